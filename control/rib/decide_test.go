package rib

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"routerd/fib"
)

// Every rule of the decision, each by two or more peers that differ in it alone.
// Peers are 192.0.2.11, .12, … in the order of paths; the next hop is the peer.
func TestDecision(t *testing.T) {
	base := func(change func(*Path)) Path {
		p := Path{
			PeerAS: 64496, PeerID: addr("10.255.0.1"),
			Preference: Preference{LocalPref: 100, PathLen: 2, NeighborAS: 64496},
		}
		if change != nil {
			change(&p)
		}
		return p
	}
	gone := "203.0.113.9"
	tests := []struct {
		name      string
		paths     []Path
		statics   []StaticRoute
		multipath int
		want      []string // the reasons in the order of paths, then of statics
		fib       string
	}{
		{
			name:  "local preference before AS path length",
			paths: []Path{base(func(p *Path) { p.LocalPref = 200; p.PathLen = 9 }), base(nil)},
			want:  []string{"", "local preference"}, fib: "192.0.2.11@2",
		}, {
			name:  "AS path length before origin",
			paths: []Path{base(func(p *Path) { p.PathLen = 3 }), base(func(p *Path) { p.Origin = 2 })},
			want:  []string{"AS path length", ""}, fib: "192.0.2.12@2",
		}, {
			name:  "origin before MED",
			paths: []Path{base(func(p *Path) { p.Origin = 1 }), base(func(p *Path) { p.MED = 50 })},
			want:  []string{"origin", ""}, fib: "192.0.2.12@2",
		}, {
			name:  "MED of one neighbouring AS",
			paths: []Path{base(func(p *Path) { p.MED = 10 }), base(func(p *Path) { p.MED = 5; p.PeerID = addr("10.255.0.9") })},
			want:  []string{"MED", ""}, fib: "192.0.2.12@2",
		}, {
			name: "MED is not compared between neighbouring ASes",
			paths: []Path{base(func(p *Path) { p.MED = 10 }),
				base(func(p *Path) { p.NeighborAS = 64497; p.PeerID = addr("10.255.0.9") })},
			want: []string{"", "router id"}, fib: "192.0.2.11@2",
		}, {
			name: "MED with a third path between does not depend on order",
			paths: []Path{base(func(p *Path) { p.MED = 10 }),
				base(func(p *Path) { p.NeighborAS = 64497; p.PeerID = addr("10.255.0.3") }),
				base(func(p *Path) { p.MED = 5; p.PeerID = addr("10.255.0.9") })},
			want: []string{"MED", "", "router id"}, fib: "192.0.2.12@2",
		}, {
			name:  "eBGP over iBGP before router id",
			paths: []Path{base(func(p *Path) { p.Internal = true }), base(func(p *Path) { p.PeerID = addr("10.255.0.9") })},
			want:  []string{"eBGP over iBGP", ""}, fib: "192.0.2.12@2",
		}, {
			name:  "iBGP with higher local preference beats eBGP",
			paths: []Path{base(func(p *Path) { p.Internal = true; p.LocalPref = 101 }), base(nil)},
			want:  []string{"", "local preference"}, fib: "192.0.2.11@2",
		}, {
			name:  "router id",
			paths: []Path{base(func(p *Path) { p.PeerID = addr("10.255.0.2") }), base(nil)},
			want:  []string{"router id", ""}, fib: "192.0.2.12@2",
		}, {
			name:  "peer address",
			paths: []Path{base(nil), base(nil)},
			want:  []string{"", "peer address"}, fib: "192.0.2.11@2",
		}, {
			name: "multipath shares and is capped", multipath: 2,
			paths: []Path{base(nil), base(nil), base(nil)},
			want:  []string{"", "", "peer address"}, fib: "192.0.2.11@2 192.0.2.12@2",
		}, {
			name: "multipath does not mix AS path lengths", multipath: 16,
			paths: []Path{base(nil), base(func(p *Path) { p.PathLen = 3 })},
			want:  []string{"", "AS path length"}, fib: "192.0.2.11@2",
		}, {
			name: "multipath does not mix eBGP and iBGP", multipath: 16,
			paths: []Path{base(func(p *Path) { p.Internal = true }), base(nil)},
			want:  []string{"eBGP over iBGP", ""}, fib: "192.0.2.12@2",
		}, {
			name:  "an unresolved next hop does not compete",
			paths: []Path{base(func(p *Path) { p.LocalPref = 200; p.NextHop = addr(gone) }), base(nil)},
			want:  []string{"next hop unresolved", ""}, fib: "192.0.2.12@2",
		}, {
			name:  "a next hop inside its own prefix",
			paths: []Path{base(func(p *Path) { p.LocalPref = 200; p.NextHop = addr("203.0.113.129") }), base(nil)},
			want:  []string{"next hop resolves through itself", ""}, fib: "192.0.2.12@2",
		}, {
			name:    "static before eBGP by distance",
			paths:   []Path{base(nil)},
			statics: []StaticRoute{static("203.0.113.128/25", "198.51.100.1")},
			want:    []string{"distance", ""}, fib: "198.51.100.1@1",
		}, {
			name:    "floating static",
			paths:   []Path{base(nil)},
			statics: []StaticRoute{{Prefix: prefix("203.0.113.128/25"), Action: fib.ActionBlackhole, Distance: 250}},
			want:    []string{"", "distance"}, fib: "192.0.2.11@2",
		}, {
			name:    "static and eBGP at equal distance",
			paths:   []Path{base(nil)},
			statics: []StaticRoute{{Prefix: prefix("203.0.113.128/25"), Action: fib.ActionUnreachable, Distance: 20}},
			want:    []string{"source, at equal distance", ""}, fib: "unreachable",
		}, {
			name:    "iBGP winner competes by its own distance",
			paths:   []Path{base(func(p *Path) { p.Internal = true; p.LocalPref = 200 }), base(nil)},
			statics: []StaticRoute{{Prefix: prefix("203.0.113.128/25"), Action: fib.ActionBlackhole, Distance: 100}},
			want:    []string{"distance", "local preference", ""}, fib: "blackhole",
		}, {
			name:    "static with an unresolved gateway gives way",
			paths:   []Path{base(nil)},
			statics: []StaticRoute{static("203.0.113.128/25", gone)},
			want:    []string{"", "next hop unresolved"}, fib: "192.0.2.11@2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRIB(t, Options{Multipath: tt.multipath})
			r.SetPorts(twoPorts())
			r.SetStatics(tt.statics)
			for i := len(tt.paths) - 1; i >= 0; i-- { // the order must not matter
				peer := addr("192.0.2.11")
				for range i {
					peer = peer.Next()
				}
				p := tt.paths[i]
				if !p.NextHop.IsValid() {
					p.NextHop = peer
				}
				r.UpdateBGP([]Change{{prefix("203.0.113.128/25"), peer, &p}})
			}
			route, _ := r.Get(prefix("203.0.113.128/25"))
			got := make([]string, len(tt.want))
			for _, c := range route.Candidates {
				i := len(tt.paths)
				if c.Source != Static {
					i = int(wordOf(c.Peer) - wordOf(addr("192.0.2.11")))
				}
				got[i] = c.Loses.String()
				if c.Used != (got[i] == "") {
					t.Errorf("candidate %d: used %v, loses %q", i, c.Used, got[i])
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if got := r.fib.routes()["203.0.113.128/25"]; got != tt.fib {
				t.Errorf("FIB has %q, want %q", got, tt.fib)
			}
			if w := route.Winner(); w == nil || !w.Used {
				t.Errorf("winner %+v is not used", w)
			}
		})
	}
}
