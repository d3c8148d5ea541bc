//go:build linux

package afxdp

import "sync/atomic"

// indexes are the two positions of a ring shared with the kernel. They count entries
// since the beginning and wrap at 2^32.
type indexes struct {
	producer *atomic.Uint32
	consumer *atomic.Uint32
	flags    *atomic.Uint32
}

// sender is our end of a ring that the kernel reads: the fill and the transmit ring.
type sender[T any] struct {
	indexes
	entries []T // a power of two of them
	next    uint32
}

// push writes an entry that the kernel sees after publish. The caller knows that there
// is room.
func (s *sender[T]) push(v T) {
	s.entries[s.next&uint32(len(s.entries)-1)] = v
	s.next++
}

func (s *sender[T]) publish() { s.producer.Store(s.next) }

// unread tells whether the kernel has entries that it has not taken yet.
func (s *sender[T]) unread() bool { return s.consumer.Load() != s.next }

// wantsWakeup tells whether the kernel takes entries only when it is called.
func (s *sender[T]) wantsWakeup() bool { return s.flags.Load()&needWakeup != 0 }

// taker is our end of a ring that the kernel writes: the receive and the completion ring.
type taker[T any] struct {
	indexes
	entries []T
	next    uint32
}

// waiting is the number of entries to take.
func (t *taker[T]) waiting() uint32 {
	return min(t.producer.Load()-t.next, uint32(len(t.entries)))
}

// take reads the next entry; the caller knows that one is waiting.
func (t *taker[T]) take() T {
	v := t.entries[t.next&uint32(len(t.entries)-1)]
	t.next++
	return v
}

// release gives the entries taken back to the kernel.
func (t *taker[T]) release() { t.consumer.Store(t.next) }
