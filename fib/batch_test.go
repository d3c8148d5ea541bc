package fib

import (
	"net/netip"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const longestBatch = 300

// lookupAll looks dst up by every method of the CPU and one by one, and checks
// that all agree and that nothing is written behind the end.
func lookupAll(tb rapid.TB, table *Table, dst []uint32) {
	tb.Helper()
	const untouched = 4711
	single := make([]uint16, len(dst), len(dst)+1)
	for i, a := range dst {
		single[i] = table.Lookup(a)
	}
	single = append(single, untouched)
	for name, lookup := range everyMethod(table) {
		out := make([]uint16, len(dst)+1)
		out[len(dst)] = untouched
		lookup(dst, out)
		if diff := gocmp.Diff(single, out); diff != "" {
			tb.Fatalf("%s of %d addresses (-Lookup +batch, with one place behind):\n%s", name, len(dst), diff)
		}
	}
}

func TestLookupBatchOfEveryLength(t *testing.T) {
	w, table := newFIB(t, Options{})
	groups := newGroups(t, w, 3)
	for i, p := range []string{"10.0.0.0/8", "10.0.0.32/27", "10.0.1.0/24"} {
		if err := w.Set(prefix(p), groups[i]); err != nil {
			t.Fatal(err)
		}
	}
	for n := range longestBatch + 1 {
		dst := make([]uint32, n)
		for i := range dst {
			dst[i] = 10<<24 + uint32(i*n) - 3
		}
		lookupAll(t, table, dst)
	}
}

// Random prefixes, many of them longer than /24, under random batches.
func TestLookupBatchesAgree(t *testing.T) {
	w, table := newFIB(t, Options{})
	groups := newGroups(t, w, 50)
	rapid.Check(t, func(rt *rapid.T) {
		var prefixes []netip.Prefix
		for range rapid.IntRange(0, 30).Draw(rt, "prefixes") {
			p := crowded(rt)
			if raceEnabled && p.Bits() < 12 {
				continue // a million atomic stores under the race detector
			}
			prefixes = append(prefixes, p)
			if err := w.Set(p, rapid.SampledFrom(groups).Draw(rt, "group")); err != nil {
				rt.Fatal(err)
			}
		}
		near := rapid.Custom(func(rt *rapid.T) uint32 {
			if len(prefixes) == 0 || rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
				return rapid.Uint32().Draw(rt, "anywhere")
			}
			p := rapid.SampledFrom(prefixes).Draw(rt, "prefix")
			return rapid.SampledFrom(edges(p)).Draw(rt, "edge") ^ rapid.Uint32Range(0, 255).Draw(rt, "last octet")
		})
		n := rapid.IntRange(0, longestBatch).Draw(rt, "addresses")
		lookupAll(rt, table, rapid.SliceOfN(near, n, n).Draw(rt, "batch"))
		for _, p := range prefixes {
			if _, err := w.Delete(p); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// The last entry and the last place of the last extended group have nothing of
// theirs behind them.
func TestLookupBatchAtTheEnds(t *testing.T) {
	_, table := newFIB(t, Options{})
	for i := range 256 {
		table.extended[len(table.extended)-256+i] = uint16(1000 + i)
		table.extended[i] = uint16(2000 + i)
	}
	storeEntry(&table.entries[0], extendedBit)
	storeEntry(&table.entries[slots-1], extendedBit|indexMask)
	var dst []uint32
	for i := range uint32(256) {
		dst = append(dst, i, 1<<32-1-i)
	}
	lookupAll(t, table, dst)
	storeEntry(&table.entries[slots-1], 5)
	storeEntry(&table.entries[slots-2], extendedBit|indexMask)
	lookupAll(t, table, append(dst, 1<<32-257))
}
