package rib

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"routerd/fib"
)

func TestResolution(t *testing.T) {
	ibgp := func(nextHop string) *Path {
		p := ebgp(nextHop)
		p.Internal = true
		return p
	}
	blackhole := func(p string) StaticRoute {
		return StaticRoute{Prefix: prefix(p), Action: fib.ActionBlackhole}
	}
	tests := []struct {
		name    string
		statics []StaticRoute
		bgp     []Change
		route   string
		fib     string // empty: not in the FIB
		problem string // of the first gateway of the best candidate
	}{
		{
			name:  "connected",
			bgp:   []Change{change("8.8.8.0/24", "192.0.2.9", ebgp("192.0.2.9"))},
			route: "8.8.8.0/24", fib: "192.0.2.9@2",
		}, {
			name:    "through a static route",
			statics: []StaticRoute{static("10.255.0.0/16", "192.0.2.10", "192.0.2.11")},
			bgp:     []Change{change("8.8.8.0/24", "10.255.0.1", ibgp("10.255.0.1"))},
			route:   "8.8.8.0/24", fib: "192.0.2.10@2 192.0.2.11@2",
		}, {
			name: "through another BGP route",
			bgp: []Change{change("8.8.8.0/24", "192.0.2.9", ibgp("203.0.113.1")),
				change("203.0.113.0/30", "192.0.2.9", ibgp("192.0.2.9"))},
			route: "8.8.8.0/24", fib: "192.0.2.9@2",
		}, {
			name:    "static through the default route",
			statics: []StaticRoute{static("0.0.0.0/0", "198.51.100.1"), static("10.0.0.0/8", "172.16.0.1")},
			route:   "10.0.0.0/8", fib: "198.51.100.1@1",
		}, {
			name:    "BGP not through the default route",
			statics: []StaticRoute{static("0.0.0.0/0", "198.51.100.1")},
			bgp:     []Change{change("8.8.8.0/24", "192.0.2.9", ibgp("172.16.0.1"))},
			route:   "8.8.8.0/24", problem: "only the default route leads to it, which BGP next hops do not use",
		}, {
			name:    "nothing covers it",
			statics: []StaticRoute{static("10.0.0.0/8", "172.16.0.1")},
			route:   "10.0.0.0/8", problem: "no route to it",
		}, {
			name:  "own address",
			bgp:   []Change{change("8.8.8.0/24", "192.0.2.9", ebgp("192.0.2.1"))},
			route: "8.8.8.0/24", problem: "the router's own address",
		}, {
			name:  "broadcast address",
			bgp:   []Change{change("8.8.8.0/24", "192.0.2.9", ebgp("192.0.2.255"))},
			route: "8.8.8.0/24", problem: "a broadcast address",
		}, {
			name:    "inside a blackholed aggregate",
			statics: []StaticRoute{blackhole("203.0.113.0/24"), static("10.0.0.0/8", "203.0.113.7")},
			route:   "10.0.0.0/8", problem: "inside 203.0.113.0/24 blackhole",
		}, {
			name:    "blackholed by its next hop",
			statics: []StaticRoute{blackhole("203.0.113.66/32")},
			bgp:     []Change{change("8.8.8.8/32", "192.0.2.9", ibgp("203.0.113.66"))},
			route:   "8.8.8.8/32", fib: "blackhole",
		}, {
			name:  "IPv6 next hop",
			bgp:   []Change{change("8.8.8.0/24", "192.0.2.9", ebgp("2001:db8::1"))},
			route: "8.8.8.0/24", problem: "not an IPv4 address",
		}, {
			name: "two routes through each other",
			bgp: []Change{change("10.1.0.0/16", "192.0.2.9", ibgp("10.2.0.1")),
				change("10.2.0.0/16", "192.0.2.9", ibgp("10.1.0.1"))},
			route: "10.1.0.0/16", problem: "no route to it",
		}, {
			name:    "a route that covers its own next hop does not hide the way there",
			statics: []StaticRoute{static("10.0.0.0/8", "192.0.2.10")},
			bgp: []Change{change("10.1.0.0/16", "192.0.2.9", ibgp("10.1.0.1")),
				change("8.8.8.0/24", "192.0.2.9", ibgp("10.1.0.1"))},
			route: "8.8.8.0/24", fib: "192.0.2.10@2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRIB(t, Options{})
			r.UpdateBGP(tt.bgp)
			r.SetStatics(tt.statics)
			r.SetPorts(twoPorts())
			if got := r.fib.routes()[tt.route]; got != tt.fib {
				t.Errorf("FIB has %q, want %q", got, tt.fib)
			}
			route, _ := r.Get(prefix(tt.route))
			if got := route.Candidates[0].Via[0].Problem; got != tt.problem {
				t.Errorf("problem %q, want %q", got, tt.problem)
			}
		})
	}
}

// A chain of routes may have maxDepth members; one more and it does not resolve,
// however long it is and from wherever resolution begins.
func TestRecursionDepth(t *testing.T) {
	for _, length := range []int{maxDepth - 1, maxDepth, 3 * maxStack} {
		r := newTestRIB(t, Options{})
		r.SetPorts(twoPorts())
		at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i), 1}) }
		var changes []Change
		for i := range length {
			via := at(i - 1)
			if i == 0 {
				via = addr("192.0.2.9")
			}
			p, _ := at(i).Prefix(24)
			changes = append(changes, Change{p, addr("192.0.2.9"), ebgp(via.String())})
		}
		slices.Reverse(changes)
		r.UpdateBGP(changes)
		if got, want := r.Status().EBGP, min(length, maxDepth); got != want {
			t.Errorf("%d of a chain of %d are used, want %d", got, length, want)
		}
	}
}

// A lost next hop is taken out of its groups before any prefix is touched.
func TestGroupsAreRepairedFirst(t *testing.T) {
	const n = 3 * chunk
	tests := []struct {
		name string
		lose func(*testRIB)
		want string // of every prefix when the repair is done
	}{
		{"port down", func(r *testRIB) { r.SetPorts(twoPorts()[1:]) }, "192.0.2.9@2"},
		{"session down", func(r *testRIB) { r.DropPeer(addr("198.51.100.1")) }, "192.0.2.9@2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRIB(t, Options{})
			r.SetPorts(twoPorts())
			var changes []Change
			backup := ebgp("192.0.2.9")
			backup.PathLen = 5
			for i := range n {
				p := netip.PrefixFrom(netip.AddrFrom4([4]byte{11, byte(i >> 8), byte(i), 0}), 24)
				changes = append(changes, Change{p, addr("198.51.100.1"), ebgp("198.51.100.1")}, Change{p, addr("192.0.2.9"), backup})
			}
			r.UpdateBGP(changes)
			groups := r.Status().Groups

			r.fib.calls = nil
			r.fib.refuse = func(call string) error {
				if call != "Set" && call != "Delete" {
					return nil
				}
				r.fib.refuse = nil
				for p, got := range r.fib.routes() {
					if prefix(p).Bits() == 24 && p[:2] == "11" && got != tt.want {
						t.Fatalf("%s still forwards to %s when the first prefix is touched", p, got)
					}
				}
				return nil
			}
			tt.lose(r)
			repairs := slices.IndexFunc(r.fib.calls, func(c string) bool { return c == "Set" || c == "Delete" })
			if sets := countCalls(r.fib.calls[:repairs], "SetGroup"); sets == 0 || sets > groups {
				t.Errorf("%d groups repaired before the first prefix, of %d", sets, groups)
			}
			for i := range n {
				p := fmt.Sprintf("11.%d.%d.0/24", i>>8, i&255)
				if route, _ := r.Get(prefix(p)); !route.InFIB || len(route.NextHops) != 1 || route.NextHops[0].PortName != "xe1" {
					t.Fatalf("%s after all: %+v", p, route)
				}
			}
		})
	}
}

func countCalls(calls []string, name string) (n int) {
	for _, c := range calls {
		if c == name {
			n++
		}
	}
	return n
}
