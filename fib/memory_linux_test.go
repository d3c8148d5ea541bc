package fib

import (
	"syscall"
	"testing"
)

// newMemory returns zeroed memory outside the heap, on huge pages where there
// are any, as the daemon uses.
func newMemory(tb testing.TB, size int) []byte {
	tb.Helper()
	m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = syscall.Munmap(m) })
	if _, ok := tb.(*testing.B); ok {
		_ = syscall.Madvise(m, 14) // MADV_HUGEPAGE
	}
	return m
}
