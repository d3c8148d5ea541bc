//go:build !race

package fib

// On amd64 an aligned 16-bit load or store is whole, stores become visible in
// program order, and so do loads: plain moves are enough, and are what makes the
// lookup fast. By Go's rules this is a data race, so race builds, and machines
// with weaker order, use entry_atomic_unsafe.go.

func loadEntry(p *uint16) uint16 { return *p }

func storeEntry(p *uint16, v uint16) { *p = v }
