package dataplane

import (
	"encoding/binary"
	"sync/atomic"
)

// note is what travels with a frame between a worker and the slow path.
type note struct {
	cause PuntCause
	port  uint8 // by which the frame came, or by which it is to leave
	flags uint8
}

// frameRing carries copies of frames from one goroutine to another without locks. It is
// bounded in bytes, and holds no pointers. One goroutine pushes; one peeks and pops.
type frameRing struct {
	mem []byte
	_   [64]byte
	out atomic.Uint64 // bytes popped since the start
	_   [64]byte
	in  atomic.Uint64 // bytes pushed since the start
	_   [64]byte
}

// A record is 8 bytes of length, cause, port and flags, then the frame, to the next border
// of 8 bytes. It does not wrap: a record that starts with skip fills the end of the ring.
const (
	recordHead = 8
	skip       = 0xffff_ffff
)

// newFrameRing makes a ring of a power of two of bytes.
func newFrameRing(bytes int) *frameRing { return &frameRing{mem: make([]byte, bytes)} }

// push copies frame into the ring; it reports false and does nothing when there is no room.
func (r *frameRing) push(n note, frame []byte) bool {
	size := uint64(recordHead+len(frame)+7) &^ 7
	in, capacity := r.in.Load(), uint64(len(r.mem))
	at := in & (capacity - 1)
	gap := uint64(0)
	if at+size > capacity {
		gap = capacity - at
	}
	if in+gap+size-r.out.Load() > capacity {
		return false
	}
	if gap != 0 {
		binary.LittleEndian.PutUint32(r.mem[at:], skip)
		at = 0
	}
	record := r.mem[at : at+size]
	binary.LittleEndian.PutUint32(record, uint32(len(frame)))
	record[4], record[5], record[6] = byte(n.cause), n.port, n.flags
	copy(record[recordHead:], frame)
	r.in.Store(in + gap + size)
	return true
}

// room says whether n frames of up to size bytes fit, wherever the ring's end falls.
func (r *frameRing) room(n, size int) bool {
	record := (recordHead + size + 7) &^ 7
	return r.in.Load()-r.out.Load()+uint64((n+1)*record) <= uint64(len(r.mem))
}

// peek returns the oldest frame, which stays valid until pop, or false.
func (r *frameRing) peek() (note, []byte, bool) {
	out := r.out.Load()
	if out == r.in.Load() {
		return note{}, nil, false
	}
	at := out & uint64(len(r.mem)-1)
	length := binary.LittleEndian.Uint32(r.mem[at:])
	if length == skip {
		r.out.Store(out + uint64(len(r.mem)) - at)
		return r.peek()
	}
	record := r.mem[at:]
	n := note{cause: PuntCause(record[4]), port: record[5], flags: record[6]}
	return n, record[recordHead : recordHead+length : recordHead+length], true
}

// pop drops the frame that peek has returned.
func (r *frameRing) pop() {
	out := r.out.Load()
	length := binary.LittleEndian.Uint32(r.mem[out&uint64(len(r.mem)-1):])
	r.out.Store(out + uint64(recordHead+length+7)&^7)
}

// empty says whether nothing waits.
func (r *frameRing) empty() bool { return r.out.Load() == r.in.Load() }
