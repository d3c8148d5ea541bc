//go:build linux

package afxdp

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"routerd/nmring"
)

// receiver is the driver's side of a receive ring.
type receiver struct {
	ring    *nmring.Ring
	umem    *umem
	fill    sender[uint64]
	arrived taker[unix.XDPDesc]
	kernel  ledger // buffers given by the fill ring and not come back
	next    uint32 // first slot not yet taken back from the user
	wake    func() error

	foreign   atomic.Uint64 // descriptors that name no buffer of ours in the kernel's hands
	malformed atomic.Uint64 // descriptors that reach beyond their buffer
}

// start gives the kernel the buffers of all slots.
func (r *receiver) start() {
	for i := range r.ring.Slots() {
		r.give(r.ring.Slot(i).BufIdx)
	}
	r.fill.publish()
}

func (r *receiver) give(buf uint32) {
	r.kernel.add(buf)
	r.fill.push(r.umem.address(buf))
}

// sync gives the kernel the buffers of the slots that the user has released, and shows
// the frames that have arrived.
func (r *receiver) sync() error {
	filled := r.refill()
	if r.collect() || filled {
		r.fill.publish()
	}
	if r.fill.wantsWakeup() && r.fill.unread() {
		return r.wake()
	}
	return nil
}

func (r *receiver) refill() bool {
	head := r.ring.Head()
	if r.next == head {
		return false
	}
	for ; r.next != head; r.next = r.ring.Next(r.next) {
		r.give(r.ring.Slot(r.next).BufIdx)
	}
	return true
}

// collect moves frames into slots and reports whether it had to give a buffer back.
func (r *receiver) collect() (refilled bool) {
	n := r.arrived.waiting()
	if n == 0 {
		return false
	}
	tail := r.ring.Tail()
	for room := r.ring.Slots() - 1 - r.ring.Distance(r.next, tail); n > 0 && room > 0; n-- {
		d := r.arrived.take()
		buf, offset, ok := r.umem.locate(d.Addr)
		if !ok || !r.kernel.remove(buf) {
			r.foreign.Add(1)
			continue
		}
		if d.Options != 0 || uint64(offset)+uint64(d.Len) > uint64(r.umem.stride) {
			r.malformed.Add(1)
			r.give(buf)
			refilled = true
			continue
		}
		*r.ring.Slot(tail) = nmring.Slot{BufIdx: buf, Len: uint16(d.Len), Ptr: uint64(offset)}
		tail = r.ring.Next(tail)
		room--
	}
	r.arrived.release()
	r.ring.SetTail(tail)
	return refilled
}

// buffers ends the ring and returns all its buffers.
func (r *receiver) buffers() []uint32 {
	bufs := r.kernel.drain()
	for i := r.next; i != r.ring.Tail(); i = r.ring.Next(i) {
		bufs = append(bufs, r.ring.Slot(i).BufIdx)
	}
	return bufs
}
