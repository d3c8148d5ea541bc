package bgp

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

// drawPolicy draws a policy over few prefixes and communities, so that terms overlap.
func drawPolicy(name string) *rapid.Generator[config.Policy] {
	return rapid.Custom(func(t *rapid.T) config.Policy {
		p := config.Policy{Name: name}
		for i := range rapid.IntRange(0, 4).Draw(t, "terms") {
			term := config.Term{Name: fmt.Sprint(i), Accept: rapid.Bool().Draw(t, "accept")}
			if rapid.Bool().Draw(t, "by prefix") {
				term.PrefixList = fmt.Sprint("list", i)
				for range rapid.IntRange(0, 3).Draw(t, "prefixes") {
					p := drawPrefix.Draw(t, "prefix")
					low := rapid.IntRange(p.Bits(), 32).Draw(t, "min")
					term.Prefixes = append(term.Prefixes, config.PrefixMatch{Prefix: p, MinLen: low, MaxLen: rapid.IntRange(low, 32).Draw(t, "max")})
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "by community") == 0 {
				term.Communities = drawCommunities.Draw(t, "communities")
			}
			if term.Accept {
				if rapid.IntRange(0, 2).Draw(t, "sets local_pref") == 0 {
					term.SetLocalPref = new(rapid.Uint32Range(1, 3).Draw(t, "local_pref"))
				}
				if rapid.IntRange(0, 2).Draw(t, "sets med") == 0 {
					term.SetMED = new(rapid.Uint32Range(0, 2).Draw(t, "med"))
				}
				if rapid.IntRange(0, 2).Draw(t, "adds") == 0 {
					term.AddCommunity = drawCommunities.Draw(t, "added")
				}
			}
			p.Terms = append(p.Terms, term)
		}
		return p
	})
}

var (
	drawPrefix = rapid.Custom(func(t *rapid.T) netip.Prefix {
		a := netip.AddrFrom4([4]byte{10, byte(rapid.IntRange(0, 3).Draw(t, "b")) << 6, 0, 0})
		return netip.PrefixFrom(a, rapid.SampledFrom([]int{0, 8, 9, 10, 16, 24}).Draw(t, "bits")).Masked()
	})
	drawCommunities = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1:1", "1:2", "1:3"}), 1, 2, rapid.ID[string])
)

// The session against a slow model: a map of what was announced, judged anew.
func TestSessionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		self := identity{as: ourAS}
		conf := config.Neighbor{Address: netip.MustParseAddr("198.51.100.1"), AS: 64496}
		in := must(compile(drawPolicy("in").Draw(t, "policy")))
		s := newSession(conf, self, in)
		announced := make(map[netip.Prefix]advert)
		sink := make(map[netip.Prefix]*Path)
		emit := func(c Change) {
			if c.Path == nil {
				if _, ok := sink[c.Prefix]; !ok {
					t.Fatalf("withdraw of %v, which the sink does not have", c.Prefix)
				}
				delete(sink, c.Prefix)
				return
			}
			if sink[c.Prefix] == c.Path {
				t.Fatalf("%v reported twice", c.Prefix)
			}
			sink[c.Prefix] = c.Path
		}
		t.Repeat(map[string]func(*rapid.T){
			"announce": func(t *rapid.T) {
				ad := &advert{nextHop: conf.Address, attrs: Attrs{NeighborAS: 64496, MED: rapid.Uint32Range(0, 2).Draw(t, "med"), HasMED: true}}
				for range rapid.IntRange(0, 2).Draw(t, "communities") {
					ad.attrs.Communities = append(ad.attrs.Communities, 1<<16|rapid.Uint32Range(1, 3).Draw(t, "community"))
				}
				if rapid.IntRange(0, 5).Draw(t, "looped") == 0 {
					ad.ases = []uint32{ourAS}
					ad.attrs.ASPath = "64500"
				}
				ad.key = ad.identity()
				var list []prefix4
				for _, p := range rapid.SliceOfN(drawPrefix, 1, 4).Draw(t, "prefixes") {
					announced[p] = *ad
					list = append(list, pack(p))
				}
				s.announce(ad, list, emit)
			},
			"withdraw": func(t *rapid.T) {
				p := drawPrefix.Draw(t, "prefix")
				delete(announced, p)
				s.withdraw([]prefix4{pack(p)}, emit)
			},
			"policy": func(t *rapid.T) {
				s.in = must(compile(drawPolicy("in").Draw(t, "policy")))
				s.reconsider(emit)
			},
			"no policy": func(*rapid.T) { s.in = nil; s.reconsider(emit) },
			"": func(t *rapid.T) {
				want := make(map[netip.Prefix]Attrs)
				var counts [refusals]int
				for p, ad := range announced {
					fresh := newSession(conf, self, s.in)
					c := fresh.judge(fresh.learn(&ad), pack(p))
					counts[c.reason]++
					if c.path != nil {
						want[p] = *c.path.Attrs
					}
				}
				got := make(map[netip.Prefix]Attrs)
				shared := make(map[*Path]Attrs)
				for p, path := range sink {
					got[p] = *path.Attrs
					shared[path] = *path.Attrs
				}
				if d := cmp.Diff(want, got, sameRoutes); d != "" {
					t.Fatal(d)
				}
				if counts != s.counts || s.received() != len(announced) {
					t.Fatalf("counts %v, want %v", s.counts, counts)
				}
				refs := 0
				for _, l := range s.learned {
					for _, c := range l.made {
						refs += c.refs
					}
				}
				if refs != len(announced) {
					t.Fatalf("%d references to %d routes", refs, len(announced))
				}
			},
		})
	})
}

// asSets makes communities what they are: GoBGP adds one again that is there already.
func asSets(routes map[netip.Prefix]bgptest.Route) map[netip.Prefix]bgptest.Route {
	for p, r := range routes {
		r.Communities = slices.Compact(slices.Sorted(slices.Values(r.Communities)))
		routes[p] = r
	}
	return routes
}

// One policy means the same to us and to GoBGP: what our session accepts is what
// another neighbour is told, with the same attributes.
func TestPolicyMeansTheSameToGoBGP(t *testing.T) {
	r := newRig(t)
	inside := config.Neighbor{Address: host(3), AS: ourAS, Passive: true, Import: "all", Export: "all"}
	outside := external(2, 64496)
	outside.Export = "all"
	conf := func(p config.Policy) *config.Config {
		return r.config([]config.Policy{p, everything("all")}, outside, inside)
	}
	r.apply(conf(everything("in")))
	from, to := r.dial(2, 64496), r.dial(3, ourAS)
	sentinel := prefix("198.51.100.0/24")
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy("in").Draw(t, "policy")
		p.Terms = append([]config.Term{{Name: "sentinel", PrefixList: "s", Accept: true,
			Prefixes: []config.PrefixMatch{{Prefix: sentinel, MinLen: 24, MaxLen: 24}}}}, p.Terms...)
		r.apply(conf(p))
		var sent []netip.Prefix
		for range rapid.IntRange(1, 6).Draw(t, "updates") {
			route := bgptest.Route{MED: new(rapid.Uint32Range(0, 2).Draw(t, "med"))}
			for range rapid.IntRange(0, 2).Draw(t, "communities") {
				route.Communities = append(route.Communities, 1<<16|rapid.Uint32Range(1, 3).Draw(t, "community"))
			}
			slices.Sort(route.Communities)
			route.Communities = slices.Compact(route.Communities)
			list := rapid.SliceOfN(drawPrefix, 1, 4).Draw(t, "prefixes")
			sent = append(sent, list...)
			r.must(from.Announce(route, list...))
		}
		mark := rapid.Uint32().Draw(t, "mark")
		r.must(from.Announce(bgptest.Route{ASPath: []uint32{64496, mark | 1<<20}}, sentinel))
		r.sink.wait(r.T, "the sentinel", func() bool {
			p := r.sink.table[host(2)][sentinel]
			return p != nil && p.Attrs.OriginAS == mark|1<<20
		})
		r.sink.mu.Lock()
		want := make(map[netip.Prefix]bgptest.Route)
		for p, path := range r.sink.table[host(2)] {
			a := path.Attrs
			route := bgptest.Route{NextHop: path.NextHop, ASPath: []uint32{64496}, LocalPref: &a.LocalPref, Communities: a.Communities}
			if a.HasMED {
				route.MED = &a.MED
			}
			if p == sentinel {
				route.ASPath = append(route.ASPath, mark|1<<20)
			}
			want[p] = route
		}
		r.sink.mu.Unlock()
		soon, cancel := context.WithTimeout(r.ctx, 5*time.Second)
		defer cancel()
		heard, err := to.Wait(soon, func(s bgptest.State) bool { return cmp.Equal(asSets(want), asSets(s.Routes), sameRoutes) })
		if err != nil {
			r.Fatalf("%v\npolicy %+v\n%s", err, p, cmp.Diff(want, asSets(heard.Routes), sameRoutes))
		}
		r.must(from.Withdraw(slices.Collect(maps.Keys(want))...))
		r.must(from.Withdraw(sent...))
		r.sink.has(r.T, host(2))
		r.neighbor(2, "an empty table", func(n Neighbor) bool { return n.Received == 0 })
	})
}

// A neighbour that repeats itself costs no memory.
func TestRefreshAllocatesNothing(t *testing.T) {
	s := newSession(config.Neighbor{Address: host(2), AS: 64496}, identity{as: ourAS}, must(compile(only("in", "10.0.0.0/8", "192.0.2.0/24"))))
	ad := &advert{nextHop: host(2), attrs: Attrs{NeighborAS: 64496}}
	ad.key = ad.identity()
	list := []prefix4{pack(prefix("10.0.0.0/8")), pack(prefix("192.0.2.0/24")), pack(prefix("203.0.113.0/24"))}
	emit := func(Change) {}
	s.announce(ad, list, emit)
	if n := testing.AllocsPerRun(100, func() { s.announce(ad, list, emit) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
