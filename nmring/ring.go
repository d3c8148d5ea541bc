package nmring

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Sizes and limits of the layout.
const (
	SlotSize       = 16  // bytes of a slot
	RingHeaderSize = 256 // bytes before the first slot
	MinSlots       = 2
	MaxSlots       = 1 << 16

	// FirstBuffer is the lowest buffer number in use: netmap reserves 0 and 1.
	FirstBuffer = 2
)

// Flags of a slot, as netmap numbers them.
const (
	BufChanged uint16 = 0x0001 // buf_idx is not the one the driver left here
	Report     uint16 = 0x0002 // report completion of this slot
	Forward    uint16 = 0x0004 // pass to the host ring
	MoreFrag   uint16 = 0x0020 // the frame goes on in the next slot
)

// Direction of a ring, as the running kernel numbers it.
type Direction uint16

const (
	Receive  Direction = 0
	Transmit Direction = 1
)

var (
	// ErrGone says that the interface behind a port has disappeared.
	ErrGone = errors.New("interface is gone")
	// ErrRing says that memory does not hold a valid ring.
	ErrRing = errors.New("not a valid ring")
	// ErrOwned says that a ring already has an owner.
	ErrOwned = errors.New("ring already has an owner")
)

// Slot is one position of a ring.
type Slot struct {
	BufIdx uint32
	Len    uint16 // bytes of frame, without CRC
	Flags  uint16
	Ptr    uint64 // offset of the frame in its buffer, under the ring's offset mask
}

// header is netmap's struct netmap_ring up to slot[].
type header struct {
	bufOfs     int64 // from the ring to buffer 0
	numSlots   uint32
	bufSize    uint32
	ringID     uint16
	dir        uint16
	head       uint32
	cur        uint32
	tail       uint32
	flags      uint32
	_          uint32
	ts         [2]int64
	offsetMask uint64
	bufAlign   uint64
	_          [56]byte
	sem        [128]byte
}

// Slots is the number of slots.
func (r *Ring) Slots() uint32 { return r.n }

// BufSize is the size of a buffer in bytes.
func (r *Ring) BufSize() uint32 { return r.stride }

// OffsetMask selects the bits of Slot.Ptr that hold the frame's offset; 0 where frames
// start at the start of their buffer.
func (r *Ring) OffsetMask() uint64 { return r.offsetMask }

// Region is where the ring's buffers are.
func (r *Ring) Region() *Region { return r.region }

// ID is the ring's number and Dir its direction.
func (r *Ring) ID() int        { return int(r.hdr.ringID) }
func (r *Ring) Dir() Direction { return Direction(r.hdr.dir) }

// Head is the first slot of the user's, Tail the first slot after them.
func (r *Ring) Head() uint32 { return atomic.LoadUint32(&r.hdr.head) }
func (r *Ring) Tail() uint32 { return atomic.LoadUint32(&r.hdr.tail) }

// Cur is where the user wants to be woken; it never lies before Head.
func (r *Ring) Cur() uint32 { return atomic.LoadUint32(&r.hdr.cur) }

// SetHead gives every slot before h back to the driver at its next sync. h must lie
// between Head and Tail.
func (r *Ring) SetHead(h uint32) {
	atomic.StoreUint32(&r.hdr.head, h)
	atomic.StoreUint32(&r.hdr.cur, h)
}

// SetTail is the driver's: it hands the slots before t to the user.
func (r *Ring) SetTail(t uint32) { atomic.StoreUint32(&r.hdr.tail, t) }

// Space is the number of slots from Head to Tail: frames to read, or room to send.
func (r *Ring) Space() uint32 { return r.Distance(r.Head(), r.Tail()) }

// Next is the slot after i.
func (r *Ring) Next(i uint32) uint32 {
	if i++; i == r.n {
		return 0
	}
	return i
}

// Add is the slot n after i, n at most Slots().
func (r *Ring) Add(i, n uint32) uint32 {
	if i += n; i >= r.n {
		i -= r.n
	}
	return i
}

// Distance is the number of steps from slot a to slot b.
func (r *Ring) Distance(a, b uint32) uint32 {
	if b < a {
		b += r.n
	}
	return b - a
}

// Offset is where the frame of s begins in its buffer.
func (r *Ring) Offset(s *Slot) uint32 { return uint32(s.Ptr & r.offsetMask) }

// Frame is the frame in slot i, never longer than its buffer, whatever the slot says.
func (r *Ring) Frame(i uint32) []byte {
	s := r.Slot(i)
	if uint64(s.BufIdx) >= uint64(r.region.count) {
		return nil
	}
	off := min(r.Offset(s), r.stride)
	return r.region.Buffer(s.BufIdx)[off : off+min(uint32(s.Len), r.stride-off)]
}

// Acquire makes owner the ring's owner. It fails with ErrOwned while another is.
func (r *Ring) Acquire(owner string) error {
	if !r.owner.CompareAndSwap(nil, &owner) {
		other := "somebody"
		if p := r.owner.Load(); p != nil {
			other = *p
		}
		return fmt.Errorf("ring %d: %w: %s", r.ID(), ErrOwned, other)
	}
	return nil
}

// Release gives the ring up.
func (r *Ring) Release() { r.owner.Store(nil) }

// Move passes the frame in slot s of rx to slot d of tx. Within a region the two slots
// swap buffers; across regions the frame is copied. It reports false, and changes
// nothing, when a copied frame would not fit: a frame is never cut.
func Move(rx *Ring, s *Slot, tx *Ring, d *Slot) bool {
	if rx.region == tx.region {
		swap(s, d)
		return true
	}
	return Copy(rx, s, tx, d)
}

// swap exchanges the buffers of s and d and moves the frame's length and
// fragment mark along.
func swap(s, d *Slot) {
	idx, ptr := d.BufIdx, d.Ptr
	d.BufIdx, d.Ptr, d.Len = s.BufIdx, s.Ptr, s.Len
	d.Flags = BufChanged | s.Flags&MoreFrag
	s.BufIdx, s.Ptr, s.Flags = idx, ptr, BufChanged
}

// Copy copies the frame in slot s of rx into the buffer of slot d of tx.
func Copy(rx *Ring, s *Slot, tx *Ring, d *Slot) bool {
	if uint64(s.BufIdx) >= uint64(rx.region.count) || uint64(d.BufIdx) >= uint64(tx.region.count) {
		return false
	}
	n, from, to := uint32(s.Len), rx.Offset(s), tx.Offset(d)
	if from+n > rx.stride || to+n > tx.stride {
		return false
	}
	copy(tx.region.Buffer(d.BufIdx)[to:to+n], rx.region.Buffer(s.BufIdx)[from:from+n])
	d.Len = s.Len
	d.Flags = s.Flags & MoreFrag
	return true
}

// Put copies frame into the buffer of slot d of tx. It reports false, and changes
// nothing, when the frame does not fit.
func Put(tx *Ring, d *Slot, frame []byte) bool {
	to := tx.Offset(d)
	if uint64(d.BufIdx) >= uint64(tx.region.count) || uint64(to)+uint64(len(frame)) > uint64(tx.stride) {
		return false
	}
	copy(tx.region.Buffer(d.BufIdx)[to:], frame)
	d.Len = uint16(len(frame))
	d.Flags = 0
	return true
}
