//go:build linux

package afxdp

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// address is where b begins.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func setsockopt(fd, option int, value unsafe.Pointer, size uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), size, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func getsockopt(fd, option int, value unsafe.Pointer, size uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func registerUMEM(fd int, u *umem) error {
	reg := unix.XDPUmemReg{
		Addr: uint64(address(u.region.Memory())),
		Len:  u.size,
		Size: u.stride,
	}
	if u.unaligned() {
		reg.Flags = unix.XDP_UMEM_UNALIGNED_CHUNK_FLAG
	}
	return setsockopt(fd, unix.XDP_UMEM_REG, unsafe.Pointer(&reg), unsafe.Sizeof(reg))
}

// mapRings maps the four rings, each of the given number of entries.
func (s *socket) mapRings(entries int) error {
	var at unix.XDPMmapOffsets
	if err := getsockopt(s.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&at), unsafe.Sizeof(at)); err != nil {
		return err
	}
	var err error
	if s.fill.indexes, s.fill.entries, err = mapRing[uint64](s, unix.XDP_UMEM_PGOFF_FILL_RING, at.Fr, entries); err != nil {
		return err
	}
	if s.done.indexes, s.done.entries, err = mapRing[uint64](s, unix.XDP_UMEM_PGOFF_COMPLETION_RING, at.Cr, entries); err != nil {
		return err
	}
	if s.arrived.indexes, s.arrived.entries, err = mapRing[unix.XDPDesc](s, unix.XDP_PGOFF_RX_RING, at.Rx, entries); err != nil {
		return err
	}
	s.queued.indexes, s.queued.entries, err = mapRing[unix.XDPDesc](s, unix.XDP_PGOFF_TX_RING, at.Tx, entries)
	return err
}

func mapRing[T any](s *socket, page int64, at unix.XDPRingOffset, entries int) (indexes, []T, error) {
	var entry T
	size := int(at.Desc) + entries*int(unsafe.Sizeof(entry))
	m, err := unix.Mmap(s.fd, page, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return indexes{}, nil, err
	}
	s.mapped = append(s.mapped, m)
	word := func(offset uint64) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&m[offset])) }
	return indexes{producer: word(at.Producer), consumer: word(at.Consumer), flags: word(at.Flags)},
		unsafe.Slice((*T)(unsafe.Pointer(&m[at.Desc])), entries), nil
}

// statistics reads the kernel's counters of the socket.
func (s *socket) statistics() (unix.XDPStatistics, error) {
	var st unix.XDPStatistics
	err := getsockopt(s.fd, unix.XDP_STATISTICS, unsafe.Pointer(&st), unsafe.Sizeof(st))
	return st, err
}
