//go:build linux

package afxdp

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"routerd/nmring"
)

func TestEveryBufferIsInOnePlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom([]int{alignedStride, nmring.Stride}).Draw(t, "stride")
		slots := rapid.IntRange(2, 17).Draw(t, "slots")
		k := newKernel(t, 64, stride, slots, 32)
		k.budget = rapid.IntRange(1, 40).Draw(t, "budget")
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				k.arrive(rapid.IntRange(0, 63).Draw(t, "buffer"), uint32(rapid.IntRange(0, 3000).Draw(t, "length")))
			},
			"finish": func(t *rapid.T) { k.finish(rapid.IntRange(0, 63).Draw(t, "frame")) },
			"receive": func(*rapid.T) {
				if err := k.rx.sync(); err != nil {
					t.Fatal(err)
				}
			},
			"transmit": func(*rapid.T) {
				if err := k.tx.sync(); err != nil {
					t.Fatal(err)
				}
			},
			"forward": func(t *rapid.T) {
				rx, tx := k.rx.ring, k.tx.ring
				n := min(rx.Space(), tx.Space(), uint32(rapid.IntRange(0, 17).Draw(t, "frames")))
				for range n {
					nmring.Move(rx, rx.Slot(rx.Head()), tx, tx.Slot(tx.Head()))
					rx.SetHead(rx.Next(rx.Head()))
					tx.SetHead(tx.Next(tx.Head()))
				}
			},
			"drop": func(*rapid.T) {
				if rx := k.rx.ring; rx.Space() > 0 {
					rx.SetHead(rx.Next(rx.Head()))
				}
			},
			"": func(t *rapid.T) {
				k.balance(t)
				if n := k.rx.foreign.Load() + k.tx.foreign.Load(); n != 0 {
					t.Fatalf("%d of our own buffers were taken for foreign", n)
				}
			},
		})
		k.umem.region.Give(k.rx.buffers()...)
		k.umem.region.Give(k.tx.buffers()...)
		if free, want := k.umem.region.Available(), k.umem.region.Count()-nmring.FirstBuffer; free != want {
			t.Fatalf("%d of %d buffers came back", free, want)
		}
	})
}

func TestOnlyFramesThatFitAreShown(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 8, 8)
	for range 8 {
		k.arrive(0, 60)
	}
	must(t, k.rx.sync())
	if got := k.rx.ring.Space(); got != 7 {
		t.Fatalf("a ring of 8 slots shows %d frames, want 7", got)
	}
	if k.arrive(0, 60) {
		t.Fatal("the kernel got a buffer while the user holds all")
	}
	k.rx.ring.SetHead(k.rx.ring.Next(k.rx.ring.Head()))
	must(t, k.rx.sync())
	if got := k.rx.ring.Space(); got != 7 {
		t.Fatalf("after one slot was released it shows %d, want 7", got)
	}
	k.balance(t)
}

func TestNothingToDoCallsNobody(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 8, 8)
	k.rx.wake = func() error { t.Error("receive was called"); return nil }
	take(&k.rx.fill, 8)
	for range 3 {
		must(t, k.rx.sync())
		must(t, k.tx.sync())
	}
	if k.calls != 0 {
		t.Errorf("send was called %d times", k.calls)
	}
}

func TestReceiveCallsWhenTheDriverSleeps(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 8, 8)
	calls := 0
	k.rx.wake = func() error { calls++; take(&k.rx.fill, 8); return nil }
	k.rx.fill.flags.Store(needWakeup)
	must(t, k.rx.sync())
	must(t, k.rx.sync())
	if calls != 1 {
		t.Errorf("called %d times, want once: the fill ring was empty the second time", calls)
	}
}

func sendOne(t testing.TB, k *kernel, length int) {
	t.Helper()
	tx := k.tx.ring
	if !nmring.Put(tx, tx.Slot(tx.Head()), make([]byte, length)) {
		t.Fatal("no room")
	}
	tx.SetHead(tx.Next(tx.Head()))
}

func TestTransmitCallsAgainWhileWorkRemains(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 16, 16)
	k.budget = 4
	for range 15 {
		sendOne(t, k, 60)
	}
	must(t, k.tx.sync())
	if k.calls != 4 || len(k.sending) != 15 {
		t.Errorf("%d frames in %d calls, want 15 in 4", len(k.sending), k.calls)
	}
}

func TestTransmitLeavesARefusalForTheNextSync(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 16, 16)
	for _, refusal := range []error{unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.ENETDOWN} {
		k.tx.wake = func() error { k.calls++; return refusal }
		sendOne(t, k, 60)
		k.calls = 0
		must(t, k.tx.sync())
		if k.calls != 1 {
			t.Errorf("%v: called %d times in one sync", refusal, k.calls)
		}
	}
	k.tx.wake = k.send
	must(t, k.tx.sync())
	if len(k.sending) != 4 {
		t.Errorf("%d frames left at last, want 4", len(k.sending))
	}
}

func TestZeroCopyTransmitCallsOnlyOnDemand(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 16, 16)
	k.tx.zeroCopy = true
	sendOne(t, k, 60)
	must(t, k.tx.sync())
	if k.calls != 0 {
		t.Error("called although the driver runs")
	}
	k.tx.queued.flags.Store(needWakeup)
	must(t, k.tx.sync())
	if k.calls != 1 {
		t.Errorf("called %d times, want 1", k.calls)
	}
}

func TestSlotsWithoutASendableFrameComeBack(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 8, 8)
	tx := k.tx.ring
	for _, s := range []nmring.Slot{
		{Len: 0}, {Len: 13}, {Len: nmring.Stride - headroom + 1, Ptr: headroom},
		{Len: 60, Flags: nmring.MoreFrag}, {Len: 65535},
	} {
		h := tx.Head()
		s.BufIdx = tx.Slot(h).BufIdx
		*tx.Slot(h) = s
		tx.SetHead(tx.Next(h))
		must(t, k.tx.sync())
		k.balance(t)
	}
	if got := k.tx.malformed.Load(); got != 5 {
		t.Errorf("%d slots counted, want 5", got)
	}
	if len(k.sending) != 0 || tx.Space() != 7 {
		t.Errorf("%d frames sent, %d slots free; want 0 and 7", len(k.sending), tx.Space())
	}
}

func TestLocateFindsEveryBuffer(t *testing.T) {
	for _, stride := range []int{2048, nmring.Stride, 2112, 4096} {
		u, err := layOut(make([]byte, 300*stride), stride)
		must(t, err)
		for buf := uint32(nmring.FirstBuffer); buf < 300; buf++ {
			for _, off := range []uint32{0, 1, headroom, uint32(stride) - 1} {
				for _, addr := range []uint64{u.address(buf) + uint64(off), u.address(buf) + uint64(off)<<addressBits} {
					b, o, ok := u.locate(addr)
					if !ok || b != buf || o != off {
						t.Fatalf("stride %d: %#x is buffer %d offset %d (%v), want %d and %d", stride, addr, b, o, ok, buf, off)
					}
				}
			}
		}
	}
	// Also in regions too big to make: the division has to be exact up to 2^48.
	for range 1_000_000 {
		stride := 2048 + rand.Uint64N(2049)
		u := umem{stride: uint32(stride), size: 1 << 43, reciprocal: ^uint64(0)/stride + 1}
		at := rand.Uint64N(u.size)
		if b, o, _ := u.locate(at); uint64(b) != at/stride || uint64(o) != at%stride {
			t.Fatalf("%d / %d = %d rest %d", at, stride, b, o)
		}
	}
}

// FuzzForeignDescriptors lets the kernel's side write anything.
func FuzzForeignDescriptors(f *testing.F) {
	f.Add(uint64(2176*5), uint32(60), uint32(0), uint64(2176*9))
	f.Add(^uint64(0), ^uint32(0), uint32(1), ^uint64(0))
	f.Add(uint64(1)<<48, uint32(65535), uint32(0), uint64(0))
	f.Fuzz(func(t *testing.T, addr uint64, length, options uint32, completed uint64) {
		for _, stride := range []int{alignedStride, nmring.Stride} {
			k := newKernel(t, 64, stride, 16, 16)
			sendOne(t, k, 60)
			must(t, k.tx.sync())
			put(&k.rx.arrived, unix.XDPDesc{Addr: addr, Len: length, Options: options})
			put(&k.rx.arrived, unix.XDPDesc{Addr: addr, Len: length, Options: options})
			put(&k.tx.done, completed)
			put(&k.tx.done, completed)
			must(t, k.rx.sync())
			must(t, k.tx.sync())
			k.balance(t)
			rx := k.rx.ring
			for i := rx.Head(); i != rx.Tail(); i = rx.Next(i) {
				if got := len(rx.Frame(i)); got != int(length) {
					t.Fatalf("a frame of %d bytes is shown as %d", length, got)
				}
			}
		}
	})
}

func TestForeignDescriptorsAreCounted(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 16, 16)
	outside := k.umem.size
	put(&k.rx.arrived, unix.XDPDesc{Addr: outside, Len: 60})
	put(&k.rx.arrived, unix.XDPDesc{Addr: k.umem.address(k.tx.ring.Slot(0).BufIdx), Len: 60}) // not the kernel's
	k.arrive(0, nmring.Stride)                                                                // longer than its buffer
	k.arrive(0, 60)
	put(&k.tx.done, outside)
	must(t, k.rx.sync())
	must(t, k.tx.sync())
	if f, m, c := k.rx.foreign.Load(), k.rx.malformed.Load(), k.tx.foreign.Load(); f != 2 || m != 1 || c != 1 {
		t.Errorf("foreign %d, malformed %d, foreign completions %d; want 2, 1, 1", f, m, c)
	}
	if got := k.rx.ring.Space(); got != 1 {
		t.Errorf("%d frames shown, want the good one", got)
	}
	k.balance(t)
}

func TestSyncsDoNotAllocate(t *testing.T) {
	k := newKernel(t, 64, nmring.Stride, 16, 16)
	k.sending = make([]unix.XDPDesc, 0, 64)
	k.tx.wake = func() error { // complete at once, without the fake kernel's own garbage
		q, d := &k.tx.queued, &k.tx.done
		for c := q.consumer.Load(); c != q.producer.Load(); c++ {
			put(d, q.entries[c&uint32(len(q.entries)-1)].Addr)
		}
		q.consumer.Store(q.producer.Load())
		return nil
	}
	round := func() {
		q := &k.rx.fill
		c := q.consumer.Load()
		put(&k.rx.arrived, unix.XDPDesc{Addr: q.entries[c&uint32(len(q.entries)-1)] + headroom<<addressBits, Len: 60})
		q.consumer.Store(c + 1)
		_ = k.rx.sync()
		rx, tx := k.rx.ring, k.tx.ring
		nmring.Move(rx, rx.Slot(rx.Head()), tx, tx.Slot(tx.Head()))
		rx.SetHead(rx.Next(rx.Head()))
		tx.SetHead(tx.Next(tx.Head()))
		_ = k.tx.sync()
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
	k.balance(t)
}
