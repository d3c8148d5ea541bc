package platform

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrMemory says that a descriptor does not hold the shared memory expected.
var ErrMemory = errors.New("not the shared memory expected")

const hugePage = 2 << 20

// SharedMemory is anonymous memory that processes share by passing its descriptor. Its
// size is sealed, so that nobody can make an access behind its end.
type SharedMemory struct {
	fd     int // -1 when it belongs to the caller
	mapped []byte
	size   int
	pages  string
}

// NewSharedMemory makes size bytes of zeroed memory, on huge pages where the system has
// them to give. The name is for display.
func NewSharedMemory(name string, size int) (*SharedMemory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("shared memory %s: size %d", name, size)
	}
	m, err := newHugeMemory(name, size)
	if err == nil {
		return m, nil
	}
	fd, err := createMemory(name, 0)
	if err != nil {
		return nil, fmt.Errorf("shared memory %s: %w", name, err)
	}
	m, err = sizeAndMap(fd, size, size)
	if err != nil {
		return nil, fmt.Errorf("shared memory %s of %d bytes: %w", name, size, err)
	}
	m.pages = adviseHuge(m.mapped)
	return m, nil
}

// sizeAndMap gives the new memory fd its size for ever and maps it. It closes fd on error.
func sizeAndMap(fd, size, length int) (*SharedMemory, error) {
	m := &SharedMemory{fd: fd, size: size}
	err := unix.Ftruncate(fd, int64(length))
	if err == nil {
		m.mapped, err = unix.Mmap(fd, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), addSeals, sealShrink|sealGrow|sealSeal)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// OpenSharedMemory maps memory of size bytes that another process made. fd stays the
// caller's and may be closed. The error is ErrMemory for a descriptor of anything else.
func OpenSharedMemory(fd, size int, writable bool) (*SharedMemory, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("%w: descriptor %d: %w", ErrMemory, fd, err)
	}
	seals, err := unix.FcntlInt(uintptr(fd), getSeals, 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: descriptor %d is not anonymous memory", ErrMemory, fd)
	case seals&sealShrink == 0:
		return nil, fmt.Errorf("%w: its size is not sealed", ErrMemory)
	case st.Size != int64(size) && st.Size != int64(roundUp(size, hugePage)):
		return nil, fmt.Errorf("%w: it has %d bytes, not %d: the other process is of another version", ErrMemory, st.Size, size)
	}
	access := unix.PROT_READ
	if writable {
		access |= unix.PROT_WRITE
	}
	b, err := unix.Mmap(fd, 0, int(st.Size), access, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map shared memory of %d bytes: %w", size, err)
	}
	return &SharedMemory{fd: -1, mapped: b, size: size, pages: adviseHuge(b)}, nil
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Bytes is the memory. Writing to memory that was opened for reading ends the process.
func (m *SharedMemory) Bytes() []byte { return m.mapped[:m.size:m.size] }

// FD is the descriptor to pass on, -1 for memory that was opened from one.
func (m *SharedMemory) FD() int { return m.fd }

// Pages tells what pages the memory is on: "hugetlb", "transparent huge pages where
// possible", or their size.
func (m *SharedMemory) Pages() string { return m.pages }

// Close takes the memory out of this process; it lives on while another has it.
func (m *SharedMemory) Close() error {
	var errs []error
	if m.mapped != nil {
		errs = append(errs, unix.Munmap(m.mapped))
		m.mapped = nil
	}
	if m.fd >= 0 {
		errs = append(errs, unix.Close(m.fd))
		m.fd = -1
	}
	return errors.Join(errs...)
}

func smallPages() string { return fmt.Sprintf("%d KiB pages", os.Getpagesize()>>10) }
