package fib

import "unsafe"

// overlay shows the memory at offset as a T. T holds no pointers, and the whole
// T lies inside the segment.
func overlay[T any](segment []byte, offset int) *T {
	var t *T
	_ = segment[offset : offset+int(unsafe.Sizeof(*t))]
	return (*T)(unsafe.Pointer(&segment[offset]))
}

func aligned(segment []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(segment)))%8 == 0
}
