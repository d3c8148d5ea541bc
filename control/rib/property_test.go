package rib

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routerd/fib"
)

// The world of the property test is small, so that next hops fall into prefixes,
// prefixes into each other, and loops are frequent.
var (
	worldPrefixes = []netip.Prefix{
		prefix("0.0.0.0/0"), prefix("10.0.0.0/8"), prefix("10.0.0.0/16"), prefix("10.1.0.0/16"), prefix("10.1.1.0/24"),
		prefix("10.2.0.0/16"), prefix("10.2.2.0/24"), prefix("10.2.2.2/32"), prefix("10.3.0.0/16"), prefix("10.3.3.3/32"),
		prefix("192.0.2.0/24"), prefix("192.0.2.128/25"), prefix("192.0.2.9/32"), prefix("198.51.100.0/30"),
	}
	worldGateways = []netip.Addr{
		addr("192.0.2.9"), addr("192.0.2.10"), addr("192.0.2.200"), addr("198.51.100.1"), addr("198.51.100.6"),
		addr("10.0.0.1"), addr("10.1.1.1"), addr("10.2.2.2"), addr("10.3.3.3"), addr("10.3.0.1"), addr("192.0.2.1"), addr("172.16.0.1"),
	}
	worldPeers = []netip.Addr{addr("198.51.100.1"), addr("198.51.100.5"), addr("192.0.2.9"), addr("10.1.1.1")}
	worldPorts = []Port{
		{Index: 1, Name: "xe0", Addresses: []netip.Prefix{prefix("198.51.100.2/30")}},
		{Index: 2, Name: "xe1", Addresses: []netip.Prefix{prefix("192.0.2.1/25"), prefix("10.3.3.3/32")}},
		{Index: 3, Name: "xe2", Addresses: []netip.Prefix{prefix("192.0.2.2/25"), prefix("198.51.100.6/31")}},
		{Index: 4, Name: "xe3", Addresses: []netip.Prefix{prefix("10.2.2.1/24")}},
	}
	worldAttrs = []string{"a", "b"}
)

func TestAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		f := newFakeFIB(t)
		r := New(Options{})
		r.Attach(f)
		up := map[uint16]bool{}
		check := func() {
			if diff := cmp.Diff(m.fib(), f.routes()); diff != "" {
				t.Fatalf("FIB (-model +got):\n%s", diff)
			}
			checkInvariants(t, r)
		}
		setPorts := func() {
			m.ports = slices.Clone(worldPorts)
			for i := range m.ports {
				m.ports[i].Up = up[m.ports[i].Index]
			}
			r.SetPorts(m.ports)
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"port": func(t *rapid.T) {
				i := rapid.SampledFrom(worldPorts).Draw(t, "port").Index
				up[i] = !up[i]
				setPorts()
			},
			"statics": func(t *rapid.T) {
				m.statics = drawStatics(t)
				r.SetStatics(m.statics)
			},
			"bgp": func(t *rapid.T) {
				changes := rapid.SliceOfN(rapid.Custom(drawChange), 1, 6).Draw(t, "changes")
				for _, c := range changes {
					if c.Path != nil {
						t.Logf("%v of %v through %v", c.Prefix, c.Peer, c.Path.NextHop)
					}
					m.update(c)
				}
				r.UpdateBGP(changes)
			},
			"drop": func(t *rapid.T) {
				p := rapid.SampledFrom(worldPeers).Draw(t, "peer")
				m.drop(p)
				r.DropPeer(p)
			},
			"stale": func(t *rapid.T) {
				p := rapid.SampledFrom(worldPeers).Draw(t, "peer")
				m.markStale(p)
				r.MarkPeerStale(p)
			},
			"sweep": func(t *rapid.T) {
				p := rapid.SampledFrom(worldPeers).Draw(t, "peer")
				m.sweep(p)
				r.SweepPeer(p)
			},
			"multipath": func(t *rapid.T) {
				m.multipath = rapid.IntRange(1, 3).Draw(t, "multipath")
				r.SetMultipath(m.multipath)
			},
			"restart": func(*rapid.T) {
				f.restart()
				r.Attach(f)
				r.Sweep()
			},
			"crash": func(*rapid.T) {
				f = newFakeFIB(f.t)
				r.Attach(f)
			},
			"audit": func(*rapid.T) {
				if a := r.Audit(100); a.Repaired > 0 {
					t.Fatalf("audit repaired %d", a.Repaired)
				}
			},
		})
		for _, p := range worldPeers {
			r.DropPeer(p)
		}
		r.SetStatics(nil)
		r.SetPorts(nil)
		(&testRIB{RIB: r, t: f.t, fib: f}).wantEmpty()
	})
}

func drawStatics(t *rapid.T) []StaticRoute {
	type key struct {
		netip.Prefix
		uint8
	}
	statics := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) StaticRoute {
		s := StaticRoute{
			Prefix:   rapid.SampledFrom(worldPrefixes).Draw(t, "prefix"),
			Action:   rapid.SampledFrom([]fib.Action{fib.ActionForward, fib.ActionForward, fib.ActionBlackhole, fib.ActionUnreachable}).Draw(t, "action"),
			Distance: rapid.SampledFrom([]uint8{0, 20, 100, 250}).Draw(t, "distance"),
		}
		if s.Action == fib.ActionForward {
			s.Via = rapid.SliceOfNDistinct(rapid.SampledFrom(worldGateways), 1, 3, rapid.ID[netip.Addr]).Draw(t, "via")
		}
		return s
	}), 0, 5, func(s StaticRoute) key { return key{s.Prefix, s.Distance} }).Draw(t, "statics")
	return statics
}

func drawChange(t *rapid.T) Change {
	c := Change{
		Prefix: rapid.SampledFrom(worldPrefixes).Draw(t, "prefix"),
		Peer:   rapid.SampledFrom(worldPeers).Draw(t, "peer"),
	}
	if rapid.IntRange(0, 3).Draw(t, "withdraw") == 0 {
		return c
	}
	i := slices.Index(worldPeers, c.Peer)
	c.Path = &Path{
		PeerAS: uint32(64496 + i/2), PeerID: worldPeers[i/2], Internal: i == 3,
		NextHop: rapid.SampledFrom(worldGateways).Draw(t, "next hop"),
		Preference: Preference{
			LocalPref:  uint32(100 + rapid.IntRange(0, 6).Draw(t, "local pref")/6),
			PathLen:    1 + rapid.IntRange(0, 4).Draw(t, "length")/4,
			Origin:     uint8(rapid.IntRange(0, 4).Draw(t, "origin") / 4),
			NeighborAS: uint32(64496 + i/2),
			MED:        uint32(rapid.IntRange(0, 2).Draw(t, "med")),
		},
		Attrs: rapid.SampledFrom(worldAttrs).Draw(t, "attrs"),
	}
	return c
}

// checkInvariants checks that what a next hop resolves to is what the routes in use
// say about its gateway, and that every count is right.
func checkInvariants(t *rapid.T, r *RIB) {
	for h := range r.nextHops {
		want := map[fib.NextHop]bool{}
		for p, e := range r.table.Supernets(netip.PrefixFrom(h.gateway, 32)) {
			if e.group == nil || p.Bits() == 0 && h.peer != nil {
				continue
			}
			for _, other := range e.group.primary {
				if other.gateway.IsValid() {
					for _, nh := range other.resolved {
						want[nh] = true
					}
					continue
				}
				a := answer{h: h}
				a.end(e, other)
				for _, nh := range a.resolved {
					want[nh] = true
				}
			}
			break
		}
		got := map[fib.NextHop]bool{}
		for _, nh := range h.resolved {
			got[nh] = true
		}
		if h.problem != "recursion too deep" && !maps.Equal(got, want) {
			t.Fatalf("next hop %v of %v resolves to %v, its routes say %v", h.gateway, h.peer, got, want)
		}
	}
	users := map[*group]int{}
	counts := [sources]int{}
	for _, e := range r.table.All() {
		users[e.group]++
		if e.winner != noSource {
			counts[e.winner]++
		}
		for _, c := range e.candidates {
			if c.path.users[c.pos] != e {
				t.Fatalf("%v is not at its place among the users of its path", e.prefix())
			}
		}
	}
	delete(users, nil)
	if len(users) != len(r.groups) || counts != r.counts {
		t.Fatalf("%d groups in use, %d kept; winners %v, counted %v", len(users), len(r.groups), counts, r.counts)
	}
	for g, n := range users {
		if g.users != n {
			t.Fatalf("group has %d users, counts %d", n, g.users)
		}
	}
}
