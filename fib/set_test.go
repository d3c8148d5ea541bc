//go:build !race

package fib

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/gaissmai/bart"
	"pgregory.net/rapid"
)

func TestEveryLength(t *testing.T) {
	w, table := newFIB(t, Options{})
	groups := newGroups(t, w, 40)
	model := slowList{}
	addr := netip.MustParseAddr("203.0.113.213")
	var prefixes []netip.Prefix
	for n := range 33 {
		prefixes = append(prefixes, netip.PrefixFrom(addr, n).Masked())
	}
	set := func(p netip.Prefix, g uint16) {
		if err := w.Set(p, g); err != nil {
			t.Fatal(err)
		}
		model[p] = g
		check(t, w, table, model, prefixes...)
	}
	for n, p := range prefixes {
		set(p, groups[n])
	}
	for n, p := range prefixes {
		set(p, groups[n+1])
	}
	checkAll(t, w, model)
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(33) {
		p := prefixes[i]
		if ok, err := w.Delete(p); !ok || err != nil {
			t.Fatalf("Delete(%v) = %v, %v", p, ok, err)
		}
		delete(model, p)
		check(t, w, table, model, prefixes...)
		if ok, err := w.Delete(p); ok || err != nil {
			t.Fatalf("second Delete(%v) = %v, %v", p, ok, err)
		}
		set(p, groups[33])
		if _, err := w.Delete(p); err != nil {
			t.Fatal(err)
		}
		delete(model, p)
	}
	checkAll(t, w, model)
	if got := w.Stats().Extended.Used; got != 0 {
		t.Errorf("%d extended groups in an empty FIB", got)
	}
}

func TestRefusedPrefixes(t *testing.T) {
	w, _ := newFIB(t, Options{})
	g := newGroup(t, w, gateway(1))
	for _, p := range []netip.Prefix{{}, prefix("2001:db8::/32"), prefix("10.0.0.1/24"), prefix("0.0.0.1/0"),
		netip.PrefixFrom(netip.MustParseAddr("::ffff:10.0.0.0"), 104)} {
		if err := w.Set(p, g); !errors.Is(err, ErrInvalidPrefix) {
			t.Errorf("Set(%v) = %v", p, err)
		}
		if _, err := w.Delete(p); !errors.Is(err, ErrInvalidPrefix) {
			t.Errorf("Delete(%v) = %v", p, err)
		}
		if _, ok := w.Get(p); ok {
			t.Errorf("Get(%v) found something", p)
		}
	}
	for _, bad := range []uint16{0, g + 1, MaxGroups, 65535} {
		if err := w.Set(prefix("10.0.0.0/8"), bad); !errors.Is(err, ErrInvalidGroup) {
			t.Errorf("Set to group %d = %v", bad, err)
		}
	}
	checkAll(t, w, slowList{})
}

func TestAgainstSlowList(t *testing.T) {
	w, table := newFIB(t, Options{})
	groups := newGroups(t, w, 5)
	rapid.Check(t, func(rt *rapid.T) {
		model := slowList{}
		touched := map[netip.Prefix]bool{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			p := crowded(rt)
			touched[p] = true
			if rapid.IntRange(0, 2).Draw(rt, "kind") == 0 {
				_, want := model[p]
				delete(model, p)
				if got, err := w.Delete(p); got != want || err != nil {
					rt.Fatalf("Delete(%v) = %v, %v, want %v", p, got, err, want)
				}
			} else {
				model[p] = rapid.SampledFrom(groups).Draw(rt, "group")
				if err := w.Set(p, model[p]); err != nil {
					rt.Fatal(err)
				}
			}
			check(t, w, table, model, p)
		}
		for p := range touched {
			check(t, w, table, model, p)
		}
		for p := range model {
			if _, err := w.Delete(p); err != nil {
				rt.Fatal(err)
			}
		}
	})
	checkAll(t, w, slowList{})
}

func TestLongRunAgainstBART(t *testing.T) {
	steps := 300_000
	if testing.Short() {
		steps = 30_000
	}
	w, table := newFIB(t, Options{})
	groups := newGroups(t, w, 500)
	var oracle bart.Table[uint16]
	r := rand.New(rand.NewPCG(2, 3))
	for step := range steps {
		p := randomPrefix(r)
		if step/(steps/6)%2 == 0 || r.Uint32N(4) == 0 {
			g := groups[r.IntN(len(groups))]
			oracle.Insert(p, g)
			if err := w.Set(p, g); err != nil {
				t.Fatal(err)
			}
		} else {
			_, want := oracle.Get(p)
			oracle.Delete(p)
			if got, err := w.Delete(p); got != want || err != nil {
				t.Fatalf("Delete(%v) = %v, %v, want %v", p, got, err, want)
			}
		}
		for _, a := range edges(p) {
			lookupLikeBART(t, table, &oracle, a)
		}
	}
	model := slowList{}
	for p, g := range oracle.All() {
		model[p] = g
	}
	checkAll(t, w, model)
}

func lookupLikeBART(tb testing.TB, table *Table, oracle *bart.Table[uint16], a uint32) {
	tb.Helper()
	g, ok := oracle.Lookup(addrOf(a))
	got := table.Lookup(a)
	if got == g && ok {
		return
	}
	if d, isDefault := oracle.Get(prefix("0.0.0.0/0")); got == 0 && (!ok || isDefault && g == d) {
		return
	}
	tb.Fatalf("Lookup(%v) = %d, BART says %d %v", addrOf(a), got, g, ok)
}
