package nmring

import (
	"errors"
	"fmt"
	"sync"
)

// Stride is the size of a buffer where nobody dictates it: 34 cache lines. At 2,048
// bytes every header falls into the same few cache sets, which cost the packet loop a
// factor of 1.77.
const Stride = 2176

// ErrNoBuffers says that a region has too few free buffers left.
var ErrNoBuffers = errors.New("no free packet buffers")

// Region is a run of equal packet buffers, numbered from 0, and the list of those that
// no ring holds. Buffers 0 and 1 are never handed out.
type Region struct {
	mem    []byte
	stride int
	count  int

	mu   sync.Mutex
	free []uint32
	used []bool // by buffer: held by a ring or by somebody who took it
}

// NewRegion makes a region of the buffers of stride bytes in mem, which must not be
// moved or freed while any ring uses it.
func NewRegion(mem []byte, stride int) (*Region, error) {
	count := 0
	if stride > 0 {
		count = len(mem) / stride
	}
	if count <= FirstBuffer || int64(count) > 1<<31 {
		return nil, fmt.Errorf("packet buffer region: %d bytes hold no buffers of %d bytes", len(mem), stride)
	}
	r := &Region{mem: mem, stride: stride, count: count}
	r.used = make([]bool, count)
	r.free = make([]uint32, 0, count-FirstBuffer)
	for i := count - 1; i >= FirstBuffer; i-- {
		r.free = append(r.free, uint32(i))
	}
	return r, nil
}

// Stride is the size of a buffer in bytes, Count their number with the two reserved ones.
func (r *Region) Stride() int { return r.stride }
func (r *Region) Count() int  { return r.count }

// Memory is the whole region.
func (r *Region) Memory() []byte { return r.mem }

// Buffer is buffer i, all of it.
func (r *Region) Buffer(i uint32) []byte {
	at := int(i) * r.stride
	return r.mem[at : at+r.stride : at+r.stride]
}

// Available is the number of free buffers.
func (r *Region) Available() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.free)
}

// Take takes n free buffers, or none and ErrNoBuffers.
func (r *Region) Take(n int) ([]uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > len(r.free) {
		return nil, fmt.Errorf("%w: %d wanted, %d of %d free", ErrNoBuffers, n, len(r.free), r.count-FirstBuffer)
	}
	taken := make([]uint32, n)
	rest := len(r.free) - n
	copy(taken, r.free[rest:])
	r.free = r.free[:rest]
	for _, b := range taken {
		r.used[b] = true
	}
	return taken, nil
}

// Give frees buffers. A buffer that is not taken panics: two holders of one buffer
// corrupt packets, and only the books can tell.
func (r *Region) Give(bufs ...uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bufs {
		if int64(b) >= int64(r.count) || !r.used[b] {
			panic(fmt.Sprintf("nmring: buffer %d given back but not taken", b))
		}
		r.used[b] = false
		r.free = append(r.free, b)
	}
}

// GiveRing frees the buffers in all slots of r, which must not be used afterwards.
func (r *Region) GiveRing(ring *Ring) {
	for i := range ring.n {
		r.Give(ring.Slot(i).BufIdx)
	}
}
