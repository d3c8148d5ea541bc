//go:build linux

package afxdp

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"routerd/nmring"
)

const (
	// headroom is where the kernel puts a frame in its buffer (XDP_PACKET_HEADROOM).
	headroom = unix.XDP_PACKET_HEADROOM

	alignedStride = 2048 // the kernel takes powers of two only without huge pages
	offsetMask    = 1<<12 - 1
	addressBits   = 48 // of a descriptor's address; the bits above hold an offset
)

// umem is the packet buffer region of all AF_XDP ports, and its addresses as the
// kernel counts them.
type umem struct {
	region     *nmring.Region
	memory     memory
	stride     uint32
	size       uint64 // bytes of all buffers
	reciprocal uint64 // of stride, in units of 2^-64, rounded up
}

// newUMEM makes a region of count buffers. On huge pages they stand at a stride of
// nmring.Stride. Without, a card that reads memory itself could not use a buffer that
// crosses a page, so they are aligned.
func newUMEM(count int) (*umem, error) {
	m, err := mapMemory(count * nmring.Stride)
	if err != nil {
		return nil, fmt.Errorf("memory for %d packet buffers: %w", count, err)
	}
	stride := nmring.Stride
	if m.pageSize < hugePage {
		stride = alignedStride
	}
	u, err := layOut(m.bytes[:count*stride], stride)
	if err != nil {
		m.unmap()
		return nil, err
	}
	u.memory = m
	if err := u.setCrossingAside(m.pageSize); err != nil {
		m.unmap()
		return nil, err
	}
	return u, nil
}

// layOut makes the address arithmetic for buffers of stride bytes in mem.
func layOut(mem []byte, stride int) (*umem, error) {
	region, err := nmring.NewRegion(mem, stride)
	if err != nil {
		return nil, err
	}
	return &umem{
		region:     region,
		stride:     uint32(stride),
		size:       uint64(region.Count() * stride),
		reciprocal: ^uint64(0)/uint64(stride) + 1,
	}, nil
}

// setCrossingAside takes the buffers that cross a page out of use for good: the pages
// need not lie side by side in physical memory.
func (u *umem) setCrossingAside(pageSize int) error {
	all, err := u.region.Take(u.region.Available())
	if err != nil {
		return err
	}
	for _, buf := range all {
		first := u.address(buf)
		last := first + uint64(u.stride) - 1
		if first/uint64(pageSize) == last/uint64(pageSize) {
			u.region.Give(buf)
		}
	}
	return nil
}

// unaligned tells whether the kernel has to be told of the stride's being no power of two.
func (u *umem) unaligned() bool { return u.stride&(u.stride-1) != 0 }

// holds tells whether buf is a buffer in use.
func (u *umem) holds(buf uint32) bool {
	return buf >= nmring.FirstBuffer && int64(buf) < int64(u.region.Count())
}

// address is the UMEM address of the start of a buffer.
func (u *umem) address(buf uint32) uint64 { return uint64(buf) * uint64(u.stride) }

// locate finds the buffer of a descriptor's address and the offset in it. With an
// unaligned stride the kernel writes the offset above the address.
func (u *umem) locate(addr uint64) (buf, offset uint32, ok bool) {
	at := addr&(1<<addressBits-1) + addr>>addressBits
	if at >= u.size {
		return 0, 0, false
	}
	// Exact for every at below 2^48 and stride below 2^12: the reciprocal is too large
	// by less than 2^-52, so the product by less than 1/stride.
	n, _ := bits.Mul64(at, u.reciprocal)
	return uint32(n), uint32(at - n*uint64(u.stride)), n >= nmring.FirstBuffer
}

// maxMTU is the largest MTU whose frames, with a VLAN tag, fit a buffer.
func (u *umem) maxMTU() int { return int(u.stride) - headroom - 14 - 4 }
