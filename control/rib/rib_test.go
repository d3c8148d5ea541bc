package rib

import (
	"io"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/fib"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }

// testRIB is a RIB with a fake FIB and a clock that stands still.
type testRIB struct {
	*RIB
	t   failer
	fib *fakeFIB
	now time.Time
}

func newTestRIB(t failer, o Options) *testRIB {
	r := &testRIB{t: t, fib: newFakeFIB(t), now: time.Unix(1_700_000_000, 0)}
	o.Clock = func() time.Time { return r.now }
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	r.RIB = New(o)
	r.Attach(r.fib)
	return r
}

func (r *testRIB) wantFIB(want map[string]string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.fib.routes()); diff != "" {
		r.t.Errorf("FIB (-want +got):\n%s", diff)
	}
}

// twoPorts is a router between 198.51.100.0/30 and 192.0.2.0/24.
func twoPorts() []Port {
	return []Port{
		{Index: 1, Name: "xe0", Up: true, Addresses: []netip.Prefix{prefix("198.51.100.2/30")}},
		{Index: 2, Name: "xe1", Up: true, Addresses: []netip.Prefix{prefix("192.0.2.1/24")}},
	}
}

var twoPortsFIB = map[string]string{
	"198.51.100.0/30": "glean@1", "198.51.100.2/32": "local@1",
	"198.51.100.0/32": "blackhole", "198.51.100.3/32": "blackhole",
	"192.0.2.0/24": "glean@2", "192.0.2.1/32": "local@2",
	"192.0.2.0/32": "blackhole", "192.0.2.255/32": "blackhole",
}

// with gives twoPortsFIB with more routes.
func with(more map[string]string) map[string]string {
	want := map[string]string{}
	for _, m := range []map[string]string{twoPortsFIB, more} {
		for p, hops := range m {
			want[p] = hops
		}
	}
	return want
}

// path makes an eBGP path of the peer at the next hop.
func ebgp(nextHop string) *Path {
	return &Path{
		PeerAS: 64496, PeerID: addr("10.255.0.1"), NextHop: addr(nextHop),
		Preference: Preference{LocalPref: 100, PathLen: 2, NeighborAS: 64496},
	}
}

func change(p, peer string, path *Path) Change {
	return Change{Prefix: prefix(p), Peer: addr(peer), Path: path}
}

func static(p string, via ...string) StaticRoute {
	s := StaticRoute{Prefix: prefix(p), Action: fib.ActionForward}
	for _, v := range via {
		s.Via = append(s.Via, addr(v))
	}
	return s
}

func TestLearnAndWithdraw(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.wantFIB(twoPortsFIB)

	r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "198.51.100.1@1"}))

	r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", nil)})
	r.wantFIB(twoPortsFIB)

	r.SetPorts(nil)
	r.wantFIB(map[string]string{})
	r.wantEmpty()
}

// wantEmpty checks that nothing is left behind in the RIB or the FIB.
func (r *testRIB) wantEmpty() {
	r.t.Helper()
	left := map[string]int{
		"prefixes": r.table.Size(), "next hops": len(r.nextHops), "fixed": len(r.fixed),
		"gateways": r.gateways.Size(), "recursive": len(r.recursive), "groups": len(r.groups),
		"FIB next hops": len(r.fib.nextHops), "FIB groups": len(r.fib.groups),
		"failed": len(r.failed), "broken": len(r.broken), "marked": len(r.unresolved) + len(r.entries),
	}
	for what, n := range left {
		if n != 0 {
			r.t.Errorf("%d %s left", n, what)
		}
	}
}
