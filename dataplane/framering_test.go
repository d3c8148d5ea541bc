package dataplane

import (
	"bytes"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFrameRingIsABoundedQueue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newFrameRing(256)
		var model [][]byte
		bytesIn := 0
		for i := range rapid.IntRange(1, 200).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "push") {
				frame := bytes.Repeat([]byte{byte(i)}, rapid.IntRange(0, 300).Draw(rt, "length"))
				n := note{cause: PuntCause(i % 5), port: byte(i % 64), flags: 1}
				ok := r.push(n, frame)
				size := (recordHead + len(frame) + 7) &^ 7
				if ok && bytesIn+size > 256 || !ok && len(model) == 0 && size <= 128 {
					rt.Fatalf("%d bytes with %d inside: %v", len(frame), bytesIn, ok)
				}
				if ok {
					model = append(model, frame)
					bytesIn += size
				}
				continue
			}
			n, frame, ok := r.peek()
			if ok != (len(model) > 0) || ok == r.empty() {
				rt.Fatalf("peek says %v with %d inside", ok, len(model))
			}
			if !ok {
				continue
			}
			if diff := cmp.Diff(model[0], frame); diff != "" || n.flags != 1 {
				rt.Fatal(diff)
			}
			r.pop()
			bytesIn -= (recordHead + len(frame) + 7) &^ 7
			model = model[1:]
		}
	})
}

func TestFrameRingBetweenGoroutines(t *testing.T) {
	r := newFrameRing(4096)
	const total = 20_000
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; i < total; {
			if r.push(note{port: byte(i)}, bytes.Repeat([]byte{byte(i)}, i%700)) {
				i++
			}
		}
	})
	for i := 0; i < total; {
		n, frame, ok := r.peek()
		if !ok {
			continue
		}
		if n.port != byte(i) || len(frame) != i%700 || len(frame) > 0 && (frame[0] != byte(i) || frame[len(frame)-1] != byte(i)) {
			t.Fatalf("frame %d: port %d, %d bytes", i, n.port, len(frame))
		}
		r.pop()
		i++
	}
	wg.Wait()
}

func TestFrameRingDoesNotAllocate(t *testing.T) {
	r, frame := newFrameRing(4096), make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		r.push(note{}, frame)
		r.peek()
		r.pop()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
