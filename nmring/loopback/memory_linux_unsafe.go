//go:build linux

package loopback

import "golang.org/x/sys/unix"

// Memory is zeroed memory outside the Go heap for rings and buffers, on huge pages where
// the kernel has them to give. It is never freed.
func Memory(size int) []byte {
	const huge = 2 << 20
	b, err := unix.Mmap(-1, 0, size+huge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return b[:size]
}
