//go:build linux

package afxdp

import (
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"routerd/nmring"
)

// kernel stands in for the other side of a socket's rings, in plain memory.
type kernel struct {
	umem *umem
	rx   *receiver
	tx   *transmitter

	filled  []uint64       // addresses taken from the fill ring
	sending []unix.XDPDesc // descriptors taken from the transmit ring
	calls   int            // of send
	budget  int            // frames taken by one call of send
}

// fataler is what testing.T and rapid.T have in common here.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func newIndexes() indexes {
	return indexes{producer: new(atomic.Uint32), consumer: new(atomic.Uint32), flags: new(atomic.Uint32)}
}

func newKernel(t fataler, buffers, stride, slots, entries int) *kernel {
	t.Helper()
	u, err := layOut(make([]byte, buffers*stride), stride)
	must(t, err)
	rx, err := newRing(u.region, 0, nmring.Receive, slots)
	must(t, err)
	tx, err := newRing(u.region, 0, nmring.Transmit, slots)
	must(t, err)
	k := &kernel{umem: u, budget: 1 << 30}
	k.rx = &receiver{ring: rx, umem: u, kernel: newLedger(buffers), wake: func() error { return nil },
		fill:    sender[uint64]{indexes: newIndexes(), entries: make([]uint64, entries)},
		arrived: taker[unix.XDPDesc]{indexes: newIndexes(), entries: make([]unix.XDPDesc, entries)}}
	k.tx = &transmitter{ring: tx, umem: u, kernel: newLedger(buffers), wake: k.send,
		queued: sender[unix.XDPDesc]{indexes: newIndexes(), entries: make([]unix.XDPDesc, entries)},
		done:   taker[uint64]{indexes: newIndexes(), entries: make([]uint64, entries)}}
	k.rx.start()
	return k
}

// take reads what we have published, up to limit entries.
func take[T any](s *sender[T], limit int) []T {
	var out []T
	for c := s.consumer.Load(); c != s.producer.Load() && len(out) < limit; c++ {
		out = append(out, s.entries[c&uint32(len(s.entries)-1)])
	}
	s.consumer.Add(uint32(len(out)))
	return out
}

// put writes what we will take.
func put[T any](t *taker[T], v T) {
	p := t.producer.Load()
	t.entries[p&uint32(len(t.entries)-1)] = v
	t.producer.Store(p + 1)
}

func (k *kernel) send() error {
	k.calls++
	sent := take(&k.tx.queued, k.budget)
	k.sending = append(k.sending, sent...)
	if k.tx.queued.unread() {
		return unix.EAGAIN
	}
	return nil
}

// arrive delivers a frame of the given length in the i-th buffer it has. It reports
// false when it has none.
func (k *kernel) arrive(i int, length uint32) bool {
	k.filled = append(k.filled, take(&k.rx.fill, 1<<30)...)
	if len(k.filled) == 0 {
		return false
	}
	i %= len(k.filled)
	addr := k.filled[i]
	k.filled = slices.Delete(k.filled, i, i+1)
	if k.umem.unaligned() {
		addr += headroom << addressBits
	} else {
		addr += headroom
	}
	put(&k.rx.arrived, unix.XDPDesc{Addr: addr, Len: length})
	return true
}

// finish completes the i-th frame it is sending.
func (k *kernel) finish(i int) bool {
	if len(k.sending) == 0 {
		return false
	}
	i %= len(k.sending)
	put(&k.tx.done, k.sending[i].Addr)
	k.sending = slices.Delete(k.sending, i, i+1)
	return true
}

// balance checks that every buffer is in one place.
func (k *kernel) balance(t fataler) {
	t.Helper()
	place := make(map[uint32]string)
	note := func(buf uint32, where string) {
		t.Helper()
		if before, twice := place[buf]; twice {
			t.Fatalf("buffer %d is in %s and in %s", buf, before, where)
		}
		if !k.umem.holds(buf) {
			t.Fatalf("buffer %d in %s does not exist", buf, where)
		}
		place[buf] = where
	}
	for _, buf := range slices.Clone(k.rx.kernel).drain() {
		note(buf, "the fill ring")
	}
	for _, buf := range slices.Clone(k.tx.kernel).drain() {
		note(buf, "the transmit ring")
	}
	rx, tx := k.rx.ring, k.tx.ring
	for i := k.rx.next; i != rx.Tail(); i = rx.Next(i) {
		note(rx.Slot(i).BufIdx, "a receive slot")
	}
	for i := k.tx.next; ; i = tx.Next(i) {
		note(tx.Slot(i).BufIdx, "a transmit slot")
		if i == tx.Tail() {
			break
		}
	}
	if want := int(rx.Slots() + tx.Slots()); len(place) != want {
		t.Fatalf("%d buffers in the books, %d belong to the rings", len(place), want)
	}
}
