package bgp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

var sameRoutes = cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}

// hears waits until p has been told exactly want.
func (r *rig) hears(p *bgptest.Session, want map[string]bgptest.Route) {
	r.Helper()
	routes := make(map[netip.Prefix]bgptest.Route)
	for k, v := range want {
		routes[prefix(k)] = v
	}
	s, err := p.Wait(r.ctx, func(s bgptest.State) bool { return cmp.Equal(routes, s.Routes, sameRoutes) })
	if err != nil {
		r.Fatalf("%v\n%s", err, cmp.Diff(routes, s.Routes, sameRoutes))
	}
}

func TestAnnounceOwnPrefixes(t *testing.T) {
	r := newRig(t)
	inside := config.Neighbor{Address: host(3), AS: ourAS, Passive: true, Import: "in", Export: "out"}
	policies := []config.Policy{everything("in"), only("out", "192.0.2.0/24")}
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24"), prefix("10.0.0.0/8")})
	r.apply(r.config(policies, external(2, 64496), inside))
	outer, inner := r.dial(2, 64496), r.dial(3, ourAS)
	own := bgptest.Route{NextHop: ours, ASPath: []uint32{ourAS}}
	ownInside := bgptest.Route{NextHop: ours, LocalPref: new(uint32(100))}
	r.hears(outer, map[string]bgptest.Route{"192.0.2.0/24": own})
	r.hears(inner, map[string]bgptest.Route{"192.0.2.0/24": ownInside})
	r.neighbor(2, "originated", func(n Neighbor) bool { return n.Originated == 1 })

	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24"), prefix("192.0.2.128/25"), prefix("10.0.0.0/8")})
	r.hears(outer, map[string]bgptest.Route{"192.0.2.0/24": own, "192.0.2.128/25": own})
	r.neighbor(2, "originated", func(n Neighbor) bool { return n.Originated == 2 })
	r.s.Announce([]netip.Prefix{prefix("192.0.2.128/25")})
	r.hears(outer, map[string]bgptest.Route{"192.0.2.128/25": own})
	r.hears(inner, map[string]bgptest.Route{"192.0.2.128/25": ownInside})

	// The export policy now rejects it, then accepts it with a longer path.
	n := external(2, 64496)
	r.apply(r.config([]config.Policy{everything("in"), only("out", "203.0.113.0/24")}, n, inside))
	r.hears(outer, nil)
	r.hears(inner, nil)
	n.Prepend = 2
	r.apply(r.config(policies, n, inside))
	r.hears(outer, map[string]bgptest.Route{"192.0.2.128/25": {NextHop: ours, ASPath: []uint32{ourAS, ourAS, ourAS}}})
	if v, _ := r.s.Neighbor(host(2)); v.Downs != 0 {
		t.Errorf("a change of policy or prepend reset the session: %+v", v)
	}
	r.s.Announce(nil)
	r.hears(outer, nil)
}

func TestPassOn(t *testing.T) {
	r := newRig(t)
	inside := config.Neighbor{Address: host(4), AS: ourAS, Passive: true, Import: "in", Export: "inside"}
	customer := config.Policy{Name: "in", Terms: []config.Term{{Name: "all", Accept: true,
		SetLocalPref: new(uint32(200)), SetMED: new(uint32(9)), AddCommunity: []string{"64500:7"}}}}
	out := everything("out")
	out.Terms[0].Prepend, out.Terms[0].SetMED = 1, new(uint32(5))
	r.apply(r.config([]config.Policy{customer, out, everything("inside")}, external(2, 64496), external(3, 64497), inside))
	from, outer, inner := r.dial(2, 64496), r.dial(3, 64497), r.dial(4, ourAS)
	r.must(from.Announce(bgptest.Route{Communities: []uint32{1}}, prefix("198.51.100.0/24")))
	r.must(from.Announce(bgptest.Route{Communities: []uint32{communityNoExport}}, prefix("203.0.113.0/24")))
	r.must(from.Announce(bgptest.Route{Communities: []uint32{communityNoAdvertise}}, prefix("8.8.8.0/24")))
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24", "8.8.8.0/24")
	tag := ourAS<<16 | 7
	r.hears(outer, map[string]bgptest.Route{"198.51.100.0/24": {NextHop: ours, ASPath: []uint32{ourAS, ourAS, 64496},
		MED: new(uint32(5)), Communities: []uint32{1, tag}}})
	r.hears(inner, map[string]bgptest.Route{
		"198.51.100.0/24": {NextHop: host(2), ASPath: []uint32{64496}, MED: new(uint32(9)), LocalPref: new(uint32(200)), Communities: []uint32{1, tag}},
		"203.0.113.0/24":  {NextHop: host(2), ASPath: []uint32{64496}, MED: new(uint32(9)), LocalPref: new(uint32(200)), Communities: []uint32{communityNoExport, tag}},
	})
	r.hears(from, nil)
	// What comes from inside does not go back inside.
	r.must(inner.Announce(bgptest.Route{ASPath: []uint32{7018}, LocalPref: new(uint32(50))}, prefix("9.9.9.0/24")))
	r.sink.has(t, host(4), "9.9.9.0/24")
	from.Kill()
	r.hears(outer, map[string]bgptest.Route{"9.9.9.0/24": {NextHop: ours, ASPath: []uint32{ourAS, ourAS, 7018}, MED: new(uint32(5)), Communities: []uint32{tag}}})
	r.hears(inner, nil)
}

// A route that no export policy can pass on is not kept in GoBGP's table, and comes
// to it when an export policy changes.
func TestExportPolicyOpens(t *testing.T) {
	r := newRig(t)
	conf := func(out config.Policy) *config.Config {
		return r.config([]config.Policy{everything("in"), out}, external(2, 64496), external(3, 64497))
	}
	r.apply(conf(only("out", "10.0.0.0/8")))
	from, outer := r.dial(2, 64496), r.dial(3, 64497)
	r.must(from.Announce(bgptest.Route{}, prefix("198.51.100.0/24"), prefix("203.0.113.0/24")))
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	r.hears(outer, nil)
	passed := bgptest.Route{NextHop: ours, ASPath: []uint32{ourAS, 64496}}
	r.apply(conf(only("out", "198.51.100.0/24")))
	r.hears(outer, map[string]bgptest.Route{"198.51.100.0/24": passed})
	r.apply(conf(everything("out")))
	r.hears(outer, map[string]bgptest.Route{"198.51.100.0/24": passed, "203.0.113.0/24": passed})
	r.apply(conf(only("out", "203.0.113.0/24")))
	r.hears(outer, map[string]bgptest.Route{"203.0.113.0/24": passed})
}

// GoBGP sends nobody what changes while a session is on its way up, so a session is sent
// everything once more when it is up.
func TestNewSessionIsSentEverythingTwice(t *testing.T) {
	r := newRig(t)
	r.s.resendAfter = 50 * time.Millisecond
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	r.apply(r.config([]config.Policy{everything("in"), everything("out")}, external(2, 64496)))
	peer := r.dial(2, 64496)
	if _, err := peer.Wait(r.ctx, func(s bgptest.State) bool { return s.Updates == 2 }); err != nil {
		t.Fatal(err)
	}
	r.hears(peer, map[string]bgptest.Route{"192.0.2.0/24": {NextHop: ours, ASPath: []uint32{ourAS}}})
}
