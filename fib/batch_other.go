//go:build race || !amd64

package fib

func (t *Table) lookupBatch(dst []uint32, out []uint16) { t.lookupInGo(dst, out) }
