package fib

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	checked, repaired, err := w.Audit(slots)
	if checked != slots || repaired != 0 || err != nil {
		tb.Fatalf("Audit = %d, %d, %v; want %d, 0, nil", checked, repaired, err, slots)
	}
}
