//go:build !race

package fib

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// loadReal fills a FIB with the real table and 64 next hops.
func loadReal(tb testing.TB) (*Writer, *Table, []netip.Prefix, []uint16) {
	tb.Helper()
	prefixes := realPrefixes(tb)
	w, table := newFIB(tb, Options{})
	groups := newGroups(tb, w, 64)
	fill(tb, w, prefixes, groups)
	return w, table, prefixes, groups
}

func fill(tb testing.TB, w *Writer, prefixes []netip.Prefix, groups []uint16) {
	tb.Helper()
	for _, p := range prefixes {
		if err := w.Set(p, groups[hashed(p)%uint32(len(groups))]); err != nil {
			tb.Fatal(err)
		}
	}
}

func hashed(p netip.Prefix) uint32 {
	return uint32(weight(hostOrder(p.Addr()), uint16(p.Bits())))
}

func within(r *rand.Rand, p netip.Prefix) uint32 {
	return hostOrder(p.Addr()) | r.Uint32()&(1<<(32-p.Bits())-1)
}

func shuffle(prefixes []netip.Prefix) {
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(prefixes), func(i, j int) { prefixes[i], prefixes[j] = prefixes[j], prefixes[i] })
}

// streams are what the lookups of a router look like: uniform over all
// addresses, uniform over the prefixes, a million flows of unequal size, a
// handful of flows.
func streams(prefixes []netip.Prefix) map[string][]uint32 {
	const n = 1 << 22
	r := rand.New(rand.NewPCG(1, 2))
	flows := make([]uint32, 1<<20)
	for i := range flows {
		flows[i] = within(r, prefixes[r.IntN(len(prefixes))])
	}
	zipf := rand.NewZipf(r, 1.1, 1, uint64(len(flows)-1))
	s := map[string][]uint32{"rnd": nil, "pfx": nil, "zipf": nil, "few": nil}
	for range n {
		s["rnd"] = append(s["rnd"], r.Uint32())
		s["pfx"] = append(s["pfx"], within(r, prefixes[r.IntN(len(prefixes))]))
		s["zipf"] = append(s["zipf"], flows[zipf.Uint64()])
		s["few"] = append(s["few"], flows[r.IntN(16)])
	}
	return s
}

func BenchmarkLookupBatch(b *testing.B) {
	_, table, prefixes, _ := loadReal(b)
	all := streams(prefixes)
	for _, name := range []string{"rnd", "pfx", "zipf", "few"} {
		for _, batch := range []int{64, 128} {
			b.Run(fmt.Sprintf("%s/%d", name, batch), func(b *testing.B) {
				stream := all[name]
				out := make([]uint16, batch)
				at := 0
				for b.Loop() {
					table.LookupBatch(stream[at:at+batch], out)
					at = (at + batch) % len(stream)
				}
				report(b, batch, "Mlookups/s")
			})
		}
	}
}

func report(b *testing.B, each int, unit string) {
	b.ReportMetric(float64(each)*float64(b.N)/b.Elapsed().Seconds()/1e6, unit)
}

func BenchmarkSelect(b *testing.B) {
	w, table := newFIB(b, Options{})
	for _, n := range []int{1, 2, 4, 16} {
		var hops []NextHop
		for i := range n {
			hops = append(hops, gateway(i))
		}
		g := newGroup(b, w, hops...)
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			flow, sum := uint32(0), uint16(0)
			for b.Loop() {
				flow++
				sum += table.Select(g, flow)
			}
			_ = sum
		})
	}
}

// BenchmarkLoad fills an empty FIB; the segments are fresh memory each time.
func BenchmarkLoad(b *testing.B) {
	prefixes := realPrefixes(b)
	for b.Loop() {
		b.StopTimer()
		w, _ := newFIB(b, Options{})
		groups := newGroups(b, w, 64)
		b.StartTimer()
		fill(b, w, prefixes, groups)
	}
	report(b, len(prefixes), "Msets/s")
}

func BenchmarkUpdate(b *testing.B) {
	w, _, prefixes, groups := loadReal(b)
	shuffle(prefixes)
	some := prefixes[:100_000]
	for _, kind := range []string{"replace", "delete", "add"} {
		b.Run(kind, func(b *testing.B) {
			n := uint32(0)
			for b.Loop() {
				n++
				for _, p := range some {
					switch kind {
					case "delete":
						_, _ = w.Delete(p)
					case "replace":
						_ = w.Set(p, groups[(hashed(p)+n)%64])
					case "add":
						_ = w.Set(p, groups[hashed(p)%64])
					}
				}
				b.StopTimer()
				switch kind {
				case "delete":
					fill(b, w, some, groups)
				case "add":
					for _, p := range some {
						_, _ = w.Delete(p)
					}
				}
				b.StartTimer()
			}
			report(b, len(some), "Mupdates/s")
		})
	}
}

func BenchmarkWholeTable(b *testing.B) {
	table, writer := newSegments(b)
	w, _ := attach(b, table, writer, Options{})
	fill(b, w, realPrefixes(b), newGroups(b, w, 64))
	b.Run("All", func(b *testing.B) {
		for b.Loop() {
			for range w.All() {
			}
		}
	})
	b.Run("Audit", func(b *testing.B) {
		for b.Loop() {
			_, _, _ = w.Audit(slots)
		}
	})
	b.Run("NewWriter", func(b *testing.B) {
		for b.Loop() {
			attach(b, table, writer, Options{})
		}
	})
}
