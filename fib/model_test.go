package fib

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// slowList is the deliberately slow model: every prefix and its group.
type slowList map[netip.Prefix]uint16

func (l slowList) match(a netip.Addr) (best netip.Prefix, g uint16, ok bool) {
	for p, pg := range l {
		if p.Contains(a) && (!ok || p.Bits() > best.Bits()) {
			best, g, ok = p, pg, true
		}
	}
	return best, g, ok
}

type route struct {
	Prefix netip.Prefix
	Group  uint16
}

func (l slowList) sorted() []route {
	var routes []route
	for _, p := range slices.SortedFunc(maps.Keys(l), comparePrefix) {
		routes = append(routes, route{p, l[p]})
	}
	return routes
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

func all(w *Writer) []route {
	var routes []route
	for p, g := range w.All() {
		routes = append(routes, route{p, g})
	}
	return routes
}

// entryFor is what the table should hold for a group: the default route's is 0.
func entryFor(p netip.Prefix, g uint16) uint16 {
	if p.Bits() == 0 {
		return 0
	}
	return g
}

// edges returns addresses just inside and outside a prefix.
func edges(p netip.Prefix) []uint32 {
	first := hostOrder(p.Addr())
	last := first | uint32(1<<(32-p.Bits())-1)
	return []uint32{first, last, first - 1, last + 1}
}

func hostOrder(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// check compares writer and table with the model on the edges of these
// prefixes.
func check(tb testing.TB, w *Writer, t *Table, model slowList, prefixes ...netip.Prefix) {
	tb.Helper()
	for _, p := range prefixes {
		for _, a := range edges(p) {
			best, g, ok := model.match(addrOf(a))
			if got, want := t.Lookup(a), entryFor(best, g); got != want {
				tb.Fatalf("Lookup(%v) = %d, want %d by %v", addrOf(a), got, want, best)
			}
			if gp, gg, gok := w.Match(addrOf(a)); gp != best || gg != g || gok != ok {
				tb.Fatalf("Match(%v) = %v %d %v, want %v %d %v", addrOf(a), gp, gg, gok, best, g, ok)
			}
		}
		if g, ok := w.Get(p); g != model[p] || ok != (g != 0) {
			tb.Fatalf("Get(%v) = %d %v, want %d", p, g, ok, model[p])
		}
	}
	if got := w.Stats().Prefixes; got != len(model) {
		tb.Fatalf("%d prefixes, want %d", got, len(model))
	}
}

// checkAll compares everything the writer enumerates with the model, and the
// live table with the exact prefixes.
func checkAll(tb testing.TB, w *Writer, model slowList) {
	tb.Helper()
	if diff := gocmp.Diff(model.sorted(), all(w), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		tb.Fatalf("prefixes (-want +got):\n%s", diff)
	}
	if raceEnabled {
		return // sixteen million atomic loads under the race detector
	}
	checked, repaired, err := w.Audit(slots)
	if checked != slots || repaired != 0 || err != nil {
		tb.Fatalf("Audit = %d, %d, %v; want %d, 0, nil", checked, repaired, err, slots)
	}
}

// noLeaks checks that just what prefixes need is in use.
func noLeaks(tb testing.TB, w *Writer, model slowList) {
	tb.Helper()
	groups, nextHops, long := map[uint16]bool{}, map[uint16]bool{}, map[uint32]bool{}
	for p, g := range model {
		groups[g] = true
		for _, i := range members(w.table, g) {
			nextHops[i] = true
		}
		if p.Bits() > 24 {
			long[hostOrder(p.Addr())>>8] = true
		}
	}
	delete(nextHops, 0)
	s := w.Stats()
	want := []Usage{{len(groups), 0, poolMax}, {len(nextHops), 0, poolMax}, {len(long), 0, poolMax}}
	if diff := gocmp.Diff(want, []Usage{s.Groups, s.NextHops, s.Extended}); diff != "" {
		tb.Errorf("groups, next hops, extended groups (-want +got):\n%s", diff)
	}
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// randomPrefix leans to /24 as real tables do, in a corner of the address space
// small enough that prefixes meet. The shortest ones, slow by their size, are
// rare.
func randomPrefix(r *rand.Rand) netip.Prefix {
	length := 12 + r.IntN(21)
	switch r.IntN(400) {
	case 0:
		length = r.IntN(12)
	default:
		if r.IntN(3) == 0 {
			length = 24
		}
	}
	return netip.PrefixFrom(addrOf(r.Uint32()&0xc00fffff), length).Masked()
}

// crowded draws prefixes that often cover, meet or neighbour each other.
func crowded(t *rapid.T) netip.Prefix {
	bases := []uint32{0, 0x0a000000, 0x0a0000ff, 0x0a000100, 0x0affff80, 0x7fffffff, 0x80000000, 0xfffffe00, 0xffffffff}
	a := rapid.SampledFrom(bases).Draw(t, "base") ^ rapid.SampledFrom([]uint32{0, 1, 2, 3, 64, 128, 255, 256, 512}).Draw(t, "offset")
	return netip.PrefixFrom(addrOf(a), rapid.IntRange(0, 32).Draw(t, "length")).Masked()
}
