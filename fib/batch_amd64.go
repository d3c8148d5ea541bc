//go:build !race

package fib

import (
	"sync"
	"time"

	"golang.org/x/sys/cpu"
)

// method is a way to look up a batch.
type method uint8

const (
	inGo method = iota
	byAVX2
	byAVX512
)

func (m method) String() string { return [...]string{"Go", "AVX2", "AVX-512"}[m] }

// supported are the methods of this CPU, narrow ones first. GODEBUG=cpu.avx2=off,cpu.avx512f=off
// leaves Go.
var supported = func() []method {
	methods := []method{inGo}
	if cpu.X86.HasAVX2 {
		methods = append(methods, byAVX2)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW {
		methods = append(methods, byAVX512)
	}
	return methods
}()

// fastest is chosen once, before the first Table is handed out.
var (
	fastest method
	choose  sync.Once
)

// chooseMethod takes the widest gathers of the CPU, if it is not slower than Go:
// gathers gain where they are hardware (on Emerald Rapids 0.5 of 1.2 ns a lookup
// over a million flows), and lose many times that where microcode has replaced
// them, as against Gather Data Sampling. It takes about 50 microseconds.
func (t *Table) chooseMethod() {
	choose.Do(func() {
		gathers := supported[len(supported)-1]
		if t.leastTime(gathers) <= t.leastTime(inGo) {
			fastest = gathers
		}
	})
}

// leastTime times lookups that hit the first-level cache. The least of several
// tries is one that no interrupt has disturbed.
func (t *Table) leastTime(m method) time.Duration {
	var dst [128]uint32
	var out [128]uint16
	for i := range dst {
		dst[i] = uint32(i*7) << 8 // all on one page of entries
	}
	least := time.Duration(1<<63 - 1)
	for range 32 {
		begin := time.Now()
		for range 16 {
			t.lookupBy(m, dst[:], out[:])
		}
		least = min(least, time.Since(begin))
	}
	return least
}

// LookupMethod tells how LookupBatch works on this machine: "Go", "AVX2" or
// "AVX-512". It is known once a table is open.
func (t *Table) LookupMethod() string { return fastest.String() }

func (t *Table) lookupBatch(dst []uint32, out []uint16) { t.lookupBy(fastest, dst, out) }

// shortest is the shortest batch that the assembly takes.
const shortest = 32

func (t *Table) lookupBy(m method, dst []uint32, out []uint16) {
	switch {
	case m == inGo || len(dst) < shortest:
		t.lookupInGo(dst, out)
	case m == byAVX512:
		lookupAVX512(t.entries, t.extended, &dst[0], &out[0], len(dst))
	default:
		lookupAVX2(t.entries, t.extended, &dst[0], &out[0], len(dst))
	}
}

//go:noescape
func lookupAVX2(entries *entryArray, extended *extendedArray, dst *uint32, out *uint16, n int)

//go:noescape
func lookupAVX512(entries *entryArray, extended *extendedArray, dst *uint32, out *uint16, n int)
