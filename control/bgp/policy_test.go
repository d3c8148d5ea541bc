package bgp

import (
	"net/netip"
	"strings"
	"testing"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

func TestNoPolicyExchangesNothingAndSaysSo(t *testing.T) {
	r := newRig(t)
	n := external(2, 64496)
	n.Import, n.Export = "", ""
	internal := config.Neighbor{Address: host(3), AS: ourAS, Passive: true}
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	r.apply(r.config(nil, n, internal))
	for i, as := range map[int]uint32{2: 64496, 3: ourAS} {
		p := r.dial(i, as)
		r.must(p.Announce(bgptest.Route{ASPath: []uint32{64496, 3356}, LocalPref: new(uint32(100))}, prefix("198.51.100.0/24"), prefix("203.0.113.0/24")))
		r.must(p.EndOfRIB())
		r.sink.wait(t, "end of RIB", func() bool { return r.sink.eor[host(i)] == 1 })
		v := r.neighbor(i, "refusals", func(n Neighbor) bool { return n.Received == 2 })
		if v.Accepted != 0 || v.Originated != 0 || v.Note() != "no policies: 2 routes refused, none announced (RFC 8212)" {
			t.Errorf("%+v note %q", v, v.Note())
		}
		r.sink.has(t, host(i))
		if heard := p.State(); heard.Updates != 0 {
			t.Errorf("heard %v", heard.Routes)
		}
	}
	said := strings.Join(r.log.text(), "\n")
	for _, want := range []string{"neighbor 127.0.0.2 has no import policy", "neighbor 127.0.0.2 has no export policy", "neighbor 127.0.0.3 has no import policy"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not in the log once:\n%s", want, said)
		}
	}
}

func TestImportPolicyChangesWithoutReset(t *testing.T) {
	r := newRig(t)
	conf := func(in config.Policy) *config.Config {
		in.Name = "in"
		return r.config([]config.Policy{in, everything("out")}, external(2, 64496))
	}
	r.apply(conf(everything("in")))
	p := r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("198.51.100.0/24"), prefix("203.0.113.0/24")))
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	since := r.neighbor(2, "up", func(n Neighbor) bool { return n.Received == 2 }).Since
	unchanged := r.sink.path(host(2), "203.0.113.0/24")

	r.apply(conf(only("in", "203.0.113.0/24")))
	r.sink.has(t, host(2), "203.0.113.0/24")
	if r.sink.path(host(2), "203.0.113.0/24") != unchanged {
		t.Error("a route that the new policy treats alike was replaced")
	}
	v := r.neighbor(2, "refusal", func(n Neighbor) bool { return n.Accepted == 1 })
	if len(v.Refused) != 1 || v.Refused[0] != (Refusal{"rejected by import policy", 1}) || !v.Since.Equal(since) {
		t.Errorf("%+v", v)
	}

	change := everything("in")
	change.Terms[0].SetLocalPref, change.Terms[0].SetMED = new(uint32(300)), new(uint32(7))
	change.Terms[0].AddCommunity = []string{"64500:1", "blackhole"}
	r.apply(conf(change))
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	r.sink.wait(t, "new attributes", func() bool {
		a := r.sink.table[host(2)][prefix("203.0.113.0/24")].Attrs
		return a.LocalPref == 300 && a.MED == 7 && a.HasMED && len(a.Communities) == 2
	})
	r.apply(conf(config.Policy{}))
	r.sink.has(t, host(2))
	if v := r.neighbor(2, "refusals", func(n Neighbor) bool { return n.Accepted == 0 }); !v.Since.Equal(since) || v.Received != 2 {
		t.Errorf("%+v", v)
	}
}

// An UPDATE that turns an accepted route into a refused one takes it back.
func TestRefusedReplacementWithdraws(t *testing.T) {
	good := bgptest.Route{ASPath: []uint32{64496, 3356}}
	tests := []struct {
		name   string
		route  bgptest.Route
		reason refusal
	}{
		{"own AS in the path", bgptest.Route{ASPath: []uint32{64496, ourAS, 3356}}, refusedASLoop},
		{"own AS in a set", bgptest.Route{ASPath: []uint32{64496}, ASSet: []uint32{7, ourAS}}, refusedASLoop},
		{"another first AS", bgptest.Route{ASPath: []uint32{64497, 3356}}, refusedFirstAS},
		{"empty path", bgptest.Route{ASPath: []uint32{}}, refusedFirstAS},
		{"path begins with a set", bgptest.Route{ASPath: []uint32{}, ASSet: []uint32{64496}}, refusedFirstAS},
		{"own address as next hop", bgptest.Route{ASPath: good.ASPath, NextHop: netip.MustParseAddr("192.0.2.9")}, refusedOwnNextHop},
		{"by policy", bgptest.Route{ASPath: good.ASPath, Communities: []uint32{666}}, refusedByPolicy},
	}
	in := config.Policy{Name: "in", Terms: []config.Term{
		{Name: "no", Communities: []string{"0:666"}},
		{Name: "yes", Accept: true},
	}}
	r := newRig(t)
	conf := r.config([]config.Policy{in, everything("out")}, external(2, 64496), external(3, 64497))
	conf.Ports = []config.Port{{Name: "lan", Addresses: []netip.Prefix{prefix("192.0.2.9/24")}}}
	r.apply(conf)
	p, other := r.dial(2, 64496), r.dial(3, 64497)
	target, marker := prefix("198.51.100.0/24"), prefix("203.0.113.0/24")
	passedOn := func(want bool) func(bgptest.State) bool {
		return func(s bgptest.State) bool { _, ok := s.Routes[target]; return ok == want }
	}
	for _, tt := range tests {
		r.must(p.Announce(good, target))
		r.sink.has(t, host(2), target.String())
		if _, err := other.Wait(r.ctx, passedOn(true)); err != nil {
			t.Fatalf("%s: not passed on before: %v", tt.name, err)
		}
		r.must(p.Announce(tt.route, target))
		r.must(p.Announce(good, marker))
		r.sink.has(t, host(2), marker.String())
		if _, err := other.Wait(r.ctx, passedOn(false)); err != nil {
			t.Fatalf("%s: still passed on: %v", tt.name, err)
		}
		v := r.neighbor(2, "counts", func(n Neighbor) bool { return n.Received == 2 })
		if len(v.Refused) != 1 || v.Refused[0] != (Refusal{refusalText[tt.reason], 1}) {
			t.Errorf("%s: refused %v", tt.name, v.Refused)
		}
		r.must(p.Withdraw(marker))
	}
}

func TestRefusedPrefixesAndNextHops(t *testing.T) {
	s := newSession(config.Neighbor{Address: netip.MustParseAddr("198.51.100.1"), AS: 64496},
		identity{as: ourAS}, &rules{terms: []rule{{accept: true}}})
	good := netip.MustParseAddr("198.51.100.1")
	tests := []struct {
		prefix, hop string
		want        refusal
	}{
		{"0.0.0.0/0", "", accepted},
		{"8.8.8.0/24", "", accepted},
		{"10.0.0.0/8", "", accepted},
		{"223.255.255.255/32", "", accepted},
		{"0.0.0.0/8", "", refusedMartianPrefix},
		{"0.1.0.0/16", "", refusedMartianPrefix},
		{"127.0.0.0/8", "", refusedMartianPrefix},
		{"127.0.0.1/32", "", refusedMartianPrefix},
		{"224.0.0.0/4", "", refusedMartianPrefix},
		{"240.0.0.0/4", "", refusedMartianPrefix},
		{"255.255.255.255/32", "", refusedMartianPrefix},
		{"8.8.8.0/24", "0.0.0.0", refusedMartianNextHop},
		{"8.8.8.0/24", "127.0.0.1", refusedMartianNextHop},
		{"8.8.8.0/24", "224.0.0.5", refusedMartianNextHop},
		{"8.8.8.0/24", "255.255.255.255", refusedMartianNextHop},
		{"8.8.8.0/24", "2001:db8::1", refusedMartianNextHop},
	}
	for _, tt := range tests {
		hop := good
		if tt.hop != "" {
			hop = netip.MustParseAddr(tt.hop)
		}
		ad := &advert{nextHop: hop, ases: []uint32{64496}, attrs: Attrs{NeighborAS: 64496}}
		ad.key = ad.identity()
		if got := s.judge(s.learn(ad), pack(prefix(tt.prefix))).reason; got != tt.want {
			t.Errorf("%s via %s: %q, want %q", tt.prefix, hop, refusalText[got], refusalText[tt.want])
		}
	}
}

func TestPrefixSet(t *testing.T) {
	s := newPrefixSet([]config.PrefixMatch{
		{Prefix: prefix("10.0.0.0/8"), MinLen: 16, MaxLen: 24},
		{Prefix: prefix("10.1.0.0/16"), MinLen: 32, MaxLen: 32},
		{Prefix: prefix("0.0.0.0/0"), MinLen: 0, MaxLen: 0},
		{Prefix: prefix("192.0.2.0/24"), MinLen: 24, MaxLen: 24},
	})
	for p, want := range map[string]bool{
		"0.0.0.0/0": true, "0.0.0.0/1": false, "10.0.0.0/8": false, "10.0.0.0/15": false,
		"10.0.0.0/16": true, "10.255.255.0/24": true, "10.0.0.0/25": false, "10.1.2.3/32": true,
		"10.2.2.3/32": false, "192.0.2.0/24": true, "192.0.2.0/25": false, "192.0.0.0/16": false,
	} {
		if got := s.contains(pack(prefix(p))); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
}
