//go:build !race

package fib

// everyMethod is what LookupBatch could do on this CPU.
func everyMethod(t *Table) map[string]func(dst []uint32, out []uint16) {
	all := map[string]func([]uint32, []uint16){"LookupBatch": t.LookupBatch}
	for _, m := range supported {
		all[m.String()] = func(dst []uint32, out []uint16) { t.lookupBy(m, dst, out[:len(dst)]) }
	}
	return all
}
