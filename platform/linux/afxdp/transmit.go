//go:build linux

package afxdp

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"routerd/nmring"
)

const (
	minFrame = 14 // bytes: an Ethernet header
	maxKicks = 64 // calls of the kernel in one sync, each of which must have sent something
)

// transmitter is the driver's side of a transmit ring.
type transmitter struct {
	ring     *nmring.Ring
	umem     *umem
	queued   sender[unix.XDPDesc]
	done     taker[uint64]
	kernel   ledger // buffers given by the transmit ring and not come back
	next     uint32 // first slot not yet taken from the user
	zeroCopy bool
	wake     func() error

	foreign   atomic.Uint64 // completions that name no buffer of ours in the kernel's hands
	malformed atomic.Uint64 // slots that hold no frame that can be sent
	refused   atomic.Uint64 // calls that the kernel refused, to be tried again
}

// sync hands the kernel the frames in the slots before head, and takes back the buffers
// of those that have left.
func (t *transmitter) sync() error {
	if head := t.ring.Head(); t.next != head {
		t.submit(head)
	}
	err := t.kick()
	t.complete()
	return err
}

func (t *transmitter) submit(head uint32) {
	for ; t.next != head; t.next = t.ring.Next(t.next) {
		s := *t.ring.Slot(t.next)
		offset := t.ring.Offset(&s)
		if !t.umem.holds(s.BufIdx) || s.Len < minFrame || s.Flags&nmring.MoreFrag != 0 ||
			offset+uint32(s.Len) > uint32(t.umem.stride) {
			t.malformed.Add(1)
			t.free(s.BufIdx)
			continue
		}
		t.kernel.add(s.BufIdx)
		t.queued.push(unix.XDPDesc{Addr: t.umem.address(s.BufIdx) + uint64(offset), Len: uint32(s.Len)})
	}
	t.queued.publish()
}

// free gives the slot after tail a buffer and the slot before it to the user. The slots
// from there up to next have been taken from the user, so none that is still unread is
// overwritten.
func (t *transmitter) free(buf uint32) {
	tail := t.ring.Next(t.ring.Tail())
	*t.ring.Slot(tail) = nmring.Slot{BufIdx: buf, Ptr: headroom}
	t.ring.SetTail(tail)
}

// kick calls the kernel as long as it sends. What is left goes with a later sync.
func (t *transmitter) kick() error {
	for range maxKicks {
		if !t.queued.unread() || t.zeroCopy && !t.queued.wantsWakeup() {
			return nil
		}
		before := t.queued.consumer.Load()
		err := t.wake()
		switch {
		case err == nil && t.zeroCopy:
			return nil // the card goes on by itself
		case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EBADF):
			return fmt.Errorf("%w: %w", nmring.ErrGone, err)
		case t.queued.consumer.Load() == before:
			t.refused.Add(1)
			return nil
		}
	}
	return nil
}

func (t *transmitter) complete() {
	n := t.done.waiting()
	if n == 0 {
		return
	}
	tail := t.ring.Tail()
	for ; n > 0; n-- {
		buf, _, ok := t.umem.locate(t.done.take())
		if !ok || !t.kernel.remove(buf) {
			t.foreign.Add(1)
			continue
		}
		tail = t.ring.Next(tail)
		*t.ring.Slot(tail) = nmring.Slot{BufIdx: buf, Ptr: headroom}
	}
	t.done.release()
	t.ring.SetTail(tail)
}

// buffers ends the ring and returns all its buffers.
func (t *transmitter) buffers() []uint32 {
	bufs := t.kernel.drain()
	for i := t.next; ; i = t.ring.Next(i) {
		bufs = append(bufs, t.ring.Slot(i).BufIdx)
		if i == t.ring.Tail() {
			return bufs
		}
	}
}
