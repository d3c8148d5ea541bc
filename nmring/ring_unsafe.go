package nmring

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// The layout is netmap's; a change of any of these is a defect.
const (
	_ = -uint(unsafe.Sizeof(header{}) ^ RingHeaderSize)
	_ = -uint(unsafe.Sizeof(Slot{}) ^ SlotSize)
)

// Ring is one circular array of slots and its indexes, in memory that a driver or the
// kernel shares with us. The methods compile to plain loads and stores.
type Ring struct {
	hdr        *header
	slots      unsafe.Pointer // slot 0
	bufs       unsafe.Pointer // buffer 0
	n          uint32
	stride     uint32
	offsetMask uint64
	region     *Region
	owner      atomic.Pointer[string]
	mem        []byte // keeps the memory alive
}

// RingBytes is the memory that a ring of slots slots takes.
func RingBytes(slots int) int { return RingHeaderSize + slots*SlotSize }

// NewRing lays out an empty ring in mem, which must be zero, 8-byte aligned and at least
// RingBytes(slots) long, and gives each slot a free buffer of region. A receive ring
// starts with no frames, a transmit ring with slots-1 free slots. On error no buffer is
// taken.
func NewRing(mem []byte, region *Region, id int, dir Direction, slots int) (*Ring, error) {
	if slots < MinSlots || slots > MaxSlots || len(mem) < RingBytes(slots) {
		return nil, fmt.Errorf("%w: %d slots in %d bytes", ErrRing, slots, len(mem))
	}
	r := &Ring{
		hdr:    (*header)(unsafe.Pointer(&mem[0])),
		slots:  unsafe.Pointer(&mem[RingHeaderSize]),
		bufs:   unsafe.Pointer(&region.mem[0]),
		n:      uint32(slots),
		stride: uint32(region.stride),
		region: region,
		mem:    mem,
	}
	*r.hdr = header{
		bufOfs:   int64(uintptr(r.bufs) - uintptr(unsafe.Pointer(r.hdr))),
		numSlots: r.n,
		bufSize:  r.stride,
		ringID:   uint16(id),
		dir:      uint16(dir),
	}
	bufs, err := region.Take(slots)
	if err != nil {
		return nil, err
	}
	for i, b := range bufs {
		*r.Slot(uint32(i)) = Slot{BufIdx: b}
	}
	if dir == Transmit {
		r.hdr.tail = r.n - 1
	}
	return r, nil
}

// OpenRing views the ring that stands at offset in mem, memory that somebody else laid
// out and that also holds region's buffers. Everything the ring says is checked against
// the bounds of mem; the error is ErrRing.
func OpenRing(mem []byte, offset int, region *Region) (*Ring, error) {
	if offset < 0 || offset%8 != 0 || offset > len(mem)-RingHeaderSize {
		return nil, fmt.Errorf("%w: offset %d in %d bytes", ErrRing, offset, len(mem))
	}
	h := (*header)(unsafe.Pointer(&mem[offset]))
	n := int64(h.numSlots)
	if n < MinSlots || n > MaxSlots || int64(offset)+RingHeaderSize+n*SlotSize > int64(len(mem)) {
		return nil, fmt.Errorf("%w: %d slots at offset %d of %d bytes", ErrRing, n, offset, len(mem))
	}
	first := int64(uintptr(unsafe.Pointer(&region.mem[0])) - uintptr(unsafe.Pointer(&mem[offset])))
	if h.bufOfs != first || int(h.bufSize) != region.stride {
		return nil, fmt.Errorf("%w: buffers of %d bytes at %d, the region has %d bytes at %d",
			ErrRing, h.bufSize, h.bufOfs, region.stride, first)
	}
	if h.head >= h.numSlots || h.cur >= h.numSlots || h.tail >= h.numSlots || h.dir > uint16(Transmit) {
		return nil, fmt.Errorf("%w: head %d, cur %d, tail %d of %d slots, direction %d",
			ErrRing, h.head, h.cur, h.tail, n, h.dir)
	}
	return &Ring{
		hdr:        h,
		slots:      unsafe.Pointer(&mem[offset+RingHeaderSize]),
		bufs:       unsafe.Pointer(&region.mem[0]),
		n:          h.numSlots,
		stride:     h.bufSize,
		offsetMask: h.offsetMask,
		region:     region,
		mem:        mem,
	}, nil
}

// SetOffsetMask makes Slot.Ptr carry frame offsets (netmap's offsets option), for a
// driver whose frames do not start at the start of their buffers.
func (r *Ring) SetOffsetMask(mask uint64) {
	r.offsetMask = mask
	r.hdr.offsetMask = mask
}

// Slot is slot i, i < Slots().
func (r *Ring) Slot(i uint32) *Slot {
	return (*Slot)(unsafe.Add(r.slots, uintptr(i)*SlotSize))
}

// Place is where the frame in s begins, in bytes from buffer 0; the condition is Data's.
func (r *Ring) Place(s *Slot) uintptr {
	return uintptr(s.BufIdx)*uintptr(r.stride) + uintptr(s.Ptr&r.offsetMask)
}

// At points at a place.
func (r *Ring) At(place uintptr) unsafe.Pointer { return unsafe.Add(r.bufs, place) }

// Data points at the first byte of the frame in s. The caller has checked that s names
// a buffer of the region, as the slots of a driver of ours do.
func (r *Ring) Data(s *Slot) unsafe.Pointer {
	return r.At(r.Place(s))
}
