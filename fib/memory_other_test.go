//go:build !linux

package fib

import "testing"

func newMemory(tb testing.TB, size int) []byte {
	tb.Helper()
	return make([]byte, size)
}
