//go:build !race

package fib

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/gaissmai/bart"

	"routerd/fib/realtable"
)

func realPrefixes(tb testing.TB) []netip.Prefix {
	tb.Helper()
	prefixes, err := realtable.Prefixes()
	if err != nil {
		tb.Fatal(err)
	}
	return prefixes
}

func TestRealTable(t *testing.T) {
	prefixes := realPrefixes(t)
	table, writer := newSegments(t)
	w, reader := attach(t, table, writer, Options{})
	groups := newGroups(t, w, 64)
	r := rand.New(rand.NewPCG(4, 5))
	var oracle bart.Table[uint16]
	for _, p := range prefixes {
		g := groups[r.IntN(len(groups))]
		oracle.Insert(p, g)
		if err := w.Set(p, g); err != nil {
			t.Fatal(err)
		}
	}
	addrs := make([]uint32, 1<<20)
	out := make([]uint16, len(addrs))
	compare := func(reader *Table) {
		t.Helper()
		for i := range addrs {
			addrs[i] = r.Uint32()
			if i%2 == 0 {
				p := prefixes[r.IntN(len(prefixes))]
				addrs[i] = hostOrder(p.Addr()) | addrs[i]&(1<<(32-p.Bits())-1)
			}
		}
		reader.LookupBatch(addrs, out)
		for i, a := range addrs {
			if g, _ := oracle.Lookup(addrOf(a)); out[i] != g {
				t.Fatalf("%v: group %d, BART says %d", addrOf(a), out[i], g)
			}
		}
	}
	compare(reader)

	for range 200_000 {
		p := prefixes[r.IntN(len(prefixes))]
		if _, ok := oracle.Get(p); ok {
			oracle.Delete(p)
			if ok, err := w.Delete(p); !ok || err != nil {
				t.Fatal(p, ok, err)
			}
		} else {
			oracle.Insert(p, groups[0])
			if err := w.Set(p, groups[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	compare(reader)

	again, reader := attach(t, table, writer, Options{})
	compare(reader)
	s := again.Stats()
	if s.Prefixes != oracle.Size() || s.Repaired != 0 {
		t.Errorf("a new writer finds %d prefixes and mends %d entries, want %d and 0", s.Prefixes, s.Repaired, oracle.Size())
	}
	n := 0
	for p, g := range again.All() {
		n++
		if og, ok := oracle.Get(p); !ok || og != g {
			t.Fatalf("All has %v %d, BART says %d %v", p, g, og, ok)
		}
	}
	if n != oracle.Size() {
		t.Errorf("All has %d prefixes, want %d", n, oracle.Size())
	}
	if checked, repaired, err := again.Audit(slots); checked != slots || repaired != 0 || err != nil {
		t.Errorf("Audit = %d, %d, %v", checked, repaired, err)
	}
}
