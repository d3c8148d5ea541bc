package rib

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/fib"
)

func TestConnected(t *testing.T) {
	port := func(index uint16, addresses ...string) Port {
		p := Port{Index: index, Name: "xe" + string('0'+rune(index)), Up: true}
		for _, a := range addresses {
			p.Addresses = append(p.Addresses, prefix(a))
		}
		return p
	}
	down := port(3, "203.0.113.1/24")
	down.Up = false
	tests := []struct {
		name  string
		ports []Port
		want  map[string]string
	}{
		{"subnet with its two broadcasts", []Port{port(1, "192.0.2.66/30")}, map[string]string{
			"192.0.2.64/30": "glean@1", "192.0.2.66/32": "local@1",
			"192.0.2.64/32": "blackhole", "192.0.2.67/32": "blackhole",
		}},
		{"/31 has two hosts", []Port{port(1, "192.0.2.0/31")}, map[string]string{
			"192.0.2.0/31": "glean@1", "192.0.2.0/32": "local@1",
		}},
		{"/32 has no subnet", []Port{port(1, "192.0.2.1/32")}, map[string]string{"192.0.2.1/32": "local@1"}},
		{"down", []Port{down}, map[string]string{}},
		{"two addresses in one subnet", []Port{port(1, "192.0.2.1/30", "192.0.2.2/30")}, map[string]string{
			"192.0.2.0/30": "glean@1", "192.0.2.1/32": "local@1", "192.0.2.2/32": "local@1",
			"192.0.2.0/32": "blackhole", "192.0.2.3/32": "blackhole",
		}},
		{"one subnet on two ports", []Port{port(2, "192.0.2.2/30"), port(1, "192.0.2.1/30")}, map[string]string{
			"192.0.2.0/30": "glean@1", "192.0.2.1/32": "local@1", "192.0.2.2/32": "local@2",
			"192.0.2.0/32": "blackhole", "192.0.2.3/32": "blackhole",
		}},
		{"own address before broadcast", []Port{port(1, "192.0.2.1/30"), port(2, "192.0.2.3/31")}, map[string]string{
			"192.0.2.0/30": "glean@1", "192.0.2.1/32": "local@1", "192.0.2.0/32": "blackhole",
			"192.0.2.2/31": "glean@2", "192.0.2.3/32": "local@2",
		}},
		{"IPv6 is left out", []Port{port(1, "2001:db8::1/64")}, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRIB(t, Options{})
			r.SetPorts(tt.ports)
			r.wantFIB(tt.want)
			r.SetPorts(nil)
			r.wantEmpty()
		})
	}
}

func TestShownAsCandidate(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts([]Port{
		{Index: 1, Name: "xe0", Up: true, Addresses: []netip.Prefix{prefix("192.0.2.1/24")}},
		{Index: 2, Name: "xe1", Up: true, Addresses: []netip.Prefix{prefix("192.0.2.2/24")}},
	})
	route, _ := r.Get(prefix("192.0.2.0/24"))
	want := []Candidate{
		{Source: Connected, Used: true, Action: fib.ActionGlean, Port: "xe0"},
		{Source: Connected, Loses: LocalOrder, Action: fib.ActionGlean, Port: "xe1"},
	}
	if diff := cmp.Diff(want, route.Candidates, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("subnet (-want +got):\n%s", diff)
	}
	route, _ = r.Get(prefix("192.0.2.255/32"))
	if c := route.Candidates[0]; c.Source != Connected || c.Detail != "broadcast" || c.Action != fib.ActionBlackhole {
		t.Errorf("broadcast %+v", c)
	}
}

// A port's subnet beats what BGP says about it, and its name may change alone.
func TestConnectedBeforeBGP(t *testing.T) {
	r := newTestRIB(t, Options{})
	ports := twoPorts()
	r.UpdateBGP([]Change{change("192.0.2.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
	r.SetPorts(ports)
	r.wantFIB(twoPortsFIB)
	r.fib.calls = nil
	ports[1].Name = "lan"
	r.SetPorts(ports)
	if len(r.fib.calls) > 0 {
		t.Errorf("a new name made calls %v", r.fib.calls)
	}
	if route, _ := r.Lookup(addr("192.0.2.77")); route.NextHops[0].PortName != "lan" {
		t.Errorf("looked up %+v", route)
	}
	r.SetPorts(ports[:1])
	if got := r.fib.routes()["192.0.2.0/24"]; got != "198.51.100.1@1" {
		t.Errorf("without the port: %q", got)
	}
}

func TestStaticRoutesAreCompared(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	routes := []StaticRoute{
		static("10.0.0.0/8", "192.0.2.9", "192.0.2.10"),
		{Prefix: prefix("10.1.0.0/16"), Action: fib.ActionUnreachable},
		{Prefix: prefix("2001:db8::/32"), Action: fib.ActionBlackhole},
		{Prefix: prefix("10.2.0.0/16"), Action: fib.ActionForward},
	}
	r.SetStatics(routes)
	r.wantFIB(with(map[string]string{"10.0.0.0/8": "192.0.2.10@2 192.0.2.9@2", "10.1.0.0/16": "unreachable"}))
	r.fib.calls = nil
	routes[0] = static("10.0.0.0/8", "192.0.2.10", "192.0.2.9")
	r.SetStatics(routes)
	if len(r.fib.calls) > 0 {
		t.Errorf("the same routes made calls %v", r.fib.calls)
	}
	r.SetStatics(nil)
	r.wantFIB(twoPortsFIB)
}

func TestLocalRoutesAreTold(t *testing.T) {
	var told [][]netip.Prefix
	r := newTestRIB(t, Options{OnLocalRoutes: func(p []netip.Prefix) { told = append(told, p) }})
	ports := append(twoPorts(), Port{Index: 3, Name: "lo", Up: true, Addresses: []netip.Prefix{prefix("10.255.0.1/32")}})
	r.SetPorts(ports)
	r.SetStatics([]StaticRoute{
		{Prefix: prefix("203.0.113.0/24"), Action: fib.ActionBlackhole},
		static("10.0.0.0/8", "172.16.0.1"), // does not resolve
	})
	r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
	r.SetPorts(ports[1:])
	var got []string
	for _, prefixes := range told {
		s := ""
		for _, p := range prefixes {
			s += p.String() + " "
		}
		got = append(got, s)
	}
	want := []string{
		"10.255.0.1/32 192.0.2.0/24 198.51.100.0/30 ",
		"10.255.0.1/32 192.0.2.0/24 198.51.100.0/30 203.0.113.0/24 ",
		"10.255.0.1/32 192.0.2.0/24 203.0.113.0/24 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
