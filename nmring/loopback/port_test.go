package loopback

import (
	"encoding/binary"
	"testing"

	"routerd/nmring"
)

func newPort(t *testing.T) *Port {
	t.Helper()
	region, err := nmring.NewRegion(Memory(200*nmring.Stride), nmring.Stride)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(region, Options{MAC: [6]byte{2, 1, 2, 3, 4, 5}, Queues: 2, Slots: 32, Frames: 20, Burst: 8})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStreamComesBackAsValidPackets(t *testing.T) {
	p := newPort(t)
	stream := []uint32{0xc0000201, 0x01020304, 0xfffffffe}
	p.SetStream(1, stream, 1)
	rx, tx := p.RX(1), p.TX(1)
	for i := range 100 {
		if err := p.RxSync(1); err != nil {
			t.Fatal(err)
		}
		if rx.Space() != 8 {
			t.Fatalf("%d frames wait, the burst is 8", rx.Space())
		}
		s := rx.Slot(rx.Head())
		f := rx.Frame(rx.Head())
		if len(f) != Frame || [6]byte(f[:6]) != p.mac || f[22] != ttl || f[12] != 8 {
			t.Fatalf("frame % x", f)
		}
		if got, want := binary.BigEndian.Uint32(f[30:]), stream[(1+i)%3]; got != want {
			t.Fatalf("packet %d to %#x, want %#x", i, got, want)
		}
		var sum uint32
		for at := 14; at < 34; at += 2 {
			sum += uint32(binary.BigEndian.Uint16(f[at:]))
		}
		if sum = sum>>16 + sum&0xffff; sum != 0xffff {
			t.Fatalf("packet %d: the header sums to %#x", i, sum)
		}
		nmring.Move(rx, s, tx, tx.Slot(tx.Head()))
		tx.SetHead(tx.Next(tx.Head()))
		rx.SetHead(rx.Next(rx.Head()))
	}
}

func TestFixedPacketsKeepTheirDestinations(t *testing.T) {
	p := newPort(t)
	p.SetStream(0, []uint32{1, 2, 3}, 0)
	for range 20 {
		p.Bounce(0)
	}
	p.SetStream(0, nil, 0)
	seen := map[uint32]int{}
	for range 20 {
		_ = p.RxSync(0)
		seen[binary.BigEndian.Uint32(p.RX(0).Frame(p.RX(0).Head())[30:])]++
		p.Bounce(0)
	}
	if len(seen) < 2 || seen[0] != 0 {
		t.Errorf("destinations %v", seen)
	}
}

func TestNoFrameAndNoBufferIsLost(t *testing.T) {
	p := newPort(t)
	moved := 0
	for range 1000 {
		moved += p.Bounce(0)
	}
	if moved != 8000 {
		t.Errorf("%d frames bounced", moved)
	}
	seen := map[uint32]bool{}
	for _, r := range []*nmring.Ring{p.RX(0), p.TX(0)} {
		for i := range r.Slots() {
			if b := r.Slot(i).BufIdx; seen[b] {
				t.Errorf("buffer %d stands in two slots", b)
			} else {
				seen[b] = true
			}
		}
	}
}

func TestSyncsDoNotAllocate(t *testing.T) {
	p := newPort(t)
	if n := testing.AllocsPerRun(100, func() { p.Bounce(0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
