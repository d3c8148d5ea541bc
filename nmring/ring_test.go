package nmring_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routerd/nmring"
	"routerd/nmring/ringtest"
)

func frame(n int) []byte { return []byte(fmt.Sprintf("frame %d", n)) }

func TestPipeCarriesFramesInOrder(t *testing.T) {
	region := ringtest.Region(t, 4096, nmring.Stride)
	port, wire := ringtest.NewWire(t, "a", region, nmring.PipeOptions{Queues: 2, Slots: 16})
	wire.Send(1, frame(1), frame(2), frame(3))
	if err := port.RxSync(1); err != nil {
		t.Fatal(err)
	}
	rx := port.RX(1)
	var got []string
	for i := rx.Head(); i != rx.Tail(); i = rx.Next(i) {
		got = append(got, string(rx.Frame(i)))
	}
	if diff := cmp.Diff([]string{"frame 1", "frame 2", "frame 3"}, got); diff != "" {
		t.Error(diff)
	}
	if err := port.RxSync(0); err != nil || port.RX(0).Space() != 0 {
		t.Errorf("queue 0 has %d frames, error %v", port.RX(0).Space(), err)
	}
}

func TestPipeFullRingHoldsFramesBack(t *testing.T) {
	region := ringtest.Region(t, 4096, nmring.Stride)
	port, wire := ringtest.NewWire(t, "a", region, nmring.PipeOptions{Slots: 8})
	sent := 0
	for wire.TrySend(0, frame(sent)) == 1 {
		sent++
	}
	// 7 frames in each of the two rings.
	if sent != 14 {
		t.Errorf("%d frames fit two rings of 8 slots", sent)
	}
	for want := 0; want < sent; want++ {
		if err := port.RxSync(0); err != nil {
			t.Fatal(err)
		}
		rx := port.RX(0)
		if got := rx.Frame(rx.Head()); !bytes.Equal(got, frame(want)) {
			t.Fatalf("frame %d is %q", want, got)
		}
		rx.SetHead(rx.Next(rx.Head()))
		if err := port.RxSync(0); err != nil {
			t.Fatal(err)
		}
		if err := wire.Port.TxSync(0); err != nil {
			t.Fatal(err)
		}
	}
}

// forward moves everything that waits on in to out.
func forward(t testing.TB, in, out *nmring.PipePort) {
	if err := in.RxSync(0); err != nil {
		t.Fatal(err)
	}
	rx, tx := in.RX(0), out.TX(0)
	for rx.Space() > 0 && tx.Space() > 0 {
		i, j := rx.Head(), tx.Head()
		if !nmring.Move(rx, rx.Slot(i), tx, tx.Slot(j)) {
			t.Fatal("frame does not fit")
		}
		rx.SetHead(rx.Next(i))
		tx.SetHead(tx.Next(j))
	}
	if err := out.TxSync(0); err != nil {
		t.Fatal(err)
	}
	if err := in.RxSync(0); err != nil {
		t.Fatal(err)
	}
}

func TestMoveSwapsWithinARegionAndCopiesAcross(t *testing.T) {
	one, two := ringtest.Region(t, 1024, nmring.Stride), ringtest.Region(t, 1024, 2048)
	for _, c := range []struct {
		name string
		out  *nmring.Region
		swap bool
	}{{"same region", one, true}, {"other region", two, false}} {
		t.Run(c.name, func(t *testing.T) {
			in, inWire := ringtest.NewWire(t, "in", one, nmring.PipeOptions{Slots: 8})
			out, outWire := ringtest.NewWire(t, "out", c.out, nmring.PipeOptions{Slots: 8})
			inWire.Send(0, frame(7))
			if err := in.RxSync(0); err != nil {
				t.Fatal(err)
			}
			s, d := in.RX(0).Slot(0), out.TX(0).Slot(0)
			from, to := s.BufIdx, d.BufIdx
			if !nmring.Move(in.RX(0), s, out.TX(0), d) {
				t.Fatal("did not fit")
			}
			if swapped := s.BufIdx == to && d.BufIdx == from; swapped != c.swap {
				t.Errorf("buffers %d, %d became %d, %d", from, to, s.BufIdx, d.BufIdx)
			}
			if changed := d.Flags&nmring.BufChanged != 0; changed != c.swap {
				t.Errorf("flags of the transmit slot %#x", d.Flags)
			}
			out.TX(0).SetHead(1)
			if err := out.TxSync(0); err != nil {
				t.Fatal(err)
			}
			if got := outWire.Receive(0); len(got) != 1 || !bytes.Equal(got[0], frame(7)) {
				t.Errorf("arrived: %q", got)
			}
		})
	}
}

func TestCopyRefusesWhatDoesNotFit(t *testing.T) {
	big, small := ringtest.Region(t, 64, 256), ringtest.Region(t, 64, 128)
	in, inWire := ringtest.NewWire(t, "in", big, nmring.PipeOptions{Slots: 4})
	out, _ := ringtest.NewWire(t, "out", small, nmring.PipeOptions{Slots: 4})
	inWire.Send(0, make([]byte, 200))
	if err := in.RxSync(0); err != nil {
		t.Fatal(err)
	}
	before := *out.TX(0).Slot(0)
	if nmring.Move(in.RX(0), in.RX(0).Slot(0), out.TX(0), out.TX(0).Slot(0)) {
		t.Error("200 bytes fit a buffer of 128")
	}
	if got := *out.TX(0).Slot(0); got != before {
		t.Errorf("slot changed from %v to %v", before, got)
	}
}

func TestRingHasOneOwner(t *testing.T) {
	port, _ := ringtest.NewWire(t, "a", ringtest.Region(t, 1024, 256), nmring.PipeOptions{Slots: 4})
	rx := port.RX(0)
	if err := rx.Acquire("worker 0"); err != nil {
		t.Fatal(err)
	}
	err := rx.Acquire("worker 1")
	if !errors.Is(err, nmring.ErrOwned) {
		t.Errorf("second owner: %v", err)
	}
	if want := "ring 0: ring already has an owner: worker 0"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	rx.Release()
	if err := rx.Acquire("worker 1"); err != nil {
		t.Errorf("after release: %v", err)
	}
}

func TestRegionBooksBalance(t *testing.T) {
	region := ringtest.Region(t, 100, 256)
	all := region.Available()
	if all != 98 {
		t.Errorf("%d free buffers of 100, two are reserved", all)
	}
	port, wire := ringtest.NewWire(t, "a", region, nmring.PipeOptions{Slots: 8})
	wire.Send(0, frame(1), frame(2))
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	if err := wire.Port.Close(); err != nil {
		t.Fatal(err)
	}
	if got := region.Available(); got != all {
		t.Errorf("%d free buffers, %d before", got, all)
	}
	if _, err := region.Take(99); !errors.Is(err, nmring.ErrNoBuffers) {
		t.Errorf("taking more than there are: %v", err)
	}
	b, err := region.Take(1)
	if err != nil {
		t.Fatal(err)
	}
	region.Give(b...)
	defer func() {
		if recover() == nil {
			t.Error("giving a buffer back twice went unnoticed")
		}
	}()
	region.Give(b...)
}

// Any pattern of sends and forwards between two regions loses nothing, keeps the order,
// and leaves every buffer in exactly one place.
func TestPipeProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(2, 9).Draw(rt, "slots")
		one, two := ringtest.Region(t, 128, 64), ringtest.Region(t, 128, 96)
		regions := []*nmring.Region{one, two}
		in, inWire := ringtest.NewWire(t, "in", one, nmring.PipeOptions{Slots: slots})
		out, outWire := ringtest.NewWire(t, "out", regions[rapid.IntRange(0, 1).Draw(rt, "region")], nmring.PipeOptions{Slots: slots})
		sent, received := 0, 0
		check := func(frames [][]byte) {
			for _, f := range frames {
				if !bytes.Equal(f, frame(received)) {
					rt.Fatalf("frame %d is %q", received, f)
				}
				received++
			}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0:
				sent += inWire.TrySend(0, frame(sent))
			case 1:
				forward(t, in, out)
			case 2:
				check(outWire.Receive(0))
			}
		}
		for range 4 * slots {
			if err := inWire.Port.TxSync(0); err != nil {
				rt.Fatal(err)
			}
			forward(t, in, out)
			check(outWire.Receive(0))
		}
		if received != sent {
			rt.Fatalf("%d sent, %d received", sent, received)
		}
		for _, ports := range [][]*nmring.PipePort{{in, inWire.Port}, {out, outWire.Port}} {
			var bufs []uint32
			for _, p := range ports {
				for _, r := range []*nmring.Ring{p.RX(0), p.TX(0)} {
					for i := range r.Slots() {
						bufs = append(bufs, r.Slot(i).BufIdx)
					}
				}
			}
			slices.Sort(bufs)
			if n := len(slices.Compact(bufs)); n != 4*slots {
				rt.Fatalf("%d different buffers in %d slots", n, 4*slots)
			}
		}
	})
}

// The two ends of a pipe may be driven by two goroutines.
func TestPipeEndsAreIndependent(t *testing.T) {
	region := ringtest.Region(t, 4096, 256)
	port, wire := ringtest.NewWire(t, "a", region, nmring.PipeOptions{Slots: 32})
	const total = 5000
	var wg sync.WaitGroup
	wg.Go(func() {
		for sent := 0; sent < total; {
			sent += wire.TrySend(0, frame(sent))
		}
		for wire.Port.TX(0).Space() != 31 {
			if err := wire.Port.TxSync(0); err != nil {
				t.Error(err)
				return
			}
		}
	})
	rx := port.RX(0)
	for got := 0; got < total; {
		if err := port.RxSync(0); err != nil {
			t.Fatal(err)
		}
		for ; rx.Space() > 0; got++ {
			if f := rx.Frame(rx.Head()); !bytes.Equal(f, frame(got)) {
				t.Fatalf("frame %d is %q", got, f)
			}
			rx.SetHead(rx.Next(rx.Head()))
		}
	}
	if err := port.RxSync(0); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

func TestSyncsAndMovesDoNotAllocate(t *testing.T) {
	region := ringtest.Region(t, 4096, nmring.Stride)
	in, _ := ringtest.NewWire(t, "in", region, nmring.PipeOptions{})
	out, _ := ringtest.NewWire(t, "out", region, nmring.PipeOptions{})
	if n := testing.AllocsPerRun(100, func() { forward(t, in, out) }); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
