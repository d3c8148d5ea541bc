//go:build race || !amd64

package fib

// everyMethod is what LookupBatch could do on this CPU.
func everyMethod(t *Table) map[string]func(dst []uint32, out []uint16) {
	return map[string]func([]uint32, []uint16){"LookupBatch": t.LookupBatch}
}
