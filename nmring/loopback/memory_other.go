//go:build !linux

package loopback

// Memory is zeroed memory for rings and buffers.
func Memory(size int) []byte { return make([]byte, size) }
