//go:build race || !amd64

package fib

import (
	"sync/atomic"
	"unsafe"
)

// Go has no 16-bit atomics: an entry is one half of a 32-bit word. The single
// writer may read, change and store the word, for nobody else stores to it.

func loadEntry(p *uint16) uint16 {
	word, shift := wordOf(p)
	return uint16(atomic.LoadUint32(word) >> shift)
}

func storeEntry(p *uint16, v uint16) {
	word, shift := wordOf(p)
	atomic.StoreUint32(word, *word&^(0xffff<<shift)|uint32(v)<<shift)
}

func wordOf(p *uint16) (word *uint32, shift uint) {
	return (*uint32)(unsafe.Pointer(uintptr(unsafe.Pointer(p)) &^ 3)), uint(uintptr(unsafe.Pointer(p))&2) * 8
}
