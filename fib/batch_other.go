//go:build race || !amd64

package fib

func (t *Table) chooseMethod() {}

// LookupMethod tells how LookupBatch works on this machine: "Go", "AVX2" or
// "AVX-512". It is known once a table is open.
func (t *Table) LookupMethod() string { return "Go" }

func (t *Table) lookupBatch(dst []uint32, out []uint16) { t.lookupInGo(dst, out) }
