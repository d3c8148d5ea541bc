//go:build linux

package edge_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"routerd/config"
	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

// The kernel with BIRD stands in for routerd, so that a fault of the lab itself is
// not looked for in the router.
func TestKernelWithBIRDRoutesTheNetwork(t *testing.T) {
	l := lab.Require(t, "bird", "birdc")
	ctx := lab.Deadline(t, time.Minute)
	try := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	speaker, err := lab.Build(l.Dir, "routerd/test/speaker")
	try(err)
	n, err := edge.Lay(l, 2)
	try(err,
		n.Router.IP("address", "add", "192.0.2.1/27", "dev", "lan0"),
		n.Router.IP("address", "add", "198.51.100.2/30", "dev", "up0"),
		n.Router.IP("address", "add", "198.51.100.6/30", "dev", "up1"),
		n.Router.Sysctl("net.ipv4.ip_forward", "1"))
	held := []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.129")}
	for i, u := range n.Upstreams {
		try(u.Hold(held[i]))
		_, err := u.Speak(speaker[0], netip.PrefixFrom(held[i], 25).Masked().String())
		try(err)
	}
	_, err = n.Router.StartBIRD(ctx, "bird", `
		router id 192.0.2.1;
		log stderr all;
		protocol device {}
		protocol kernel { ipv4 { export where source = RTS_BGP; }; }
		template bgp up {
			local as 64500;
			connect delay time 1;
			ipv4 { import all; export none; };
		}
		protocol bgp a from up { neighbor 198.51.100.1 as 64496; }
		protocol bgp b from up { neighbor 198.51.100.5 as 64497; }`)
	try(err)
	for i, u := range n.Upstreams {
		try(lab.Await(ctx, "the kernel to know the way to "+held[i].String(), func() error {
			out, err := n.Router.Output("ip", "route", "get", held[i].String())
			if err == nil && !strings.Contains(string(out), "dev "+u.Port) {
				err = errors.New(string(out))
			}
			return err
		}))
		replies, err := probe.Ping(n.LAN, edge.LANHost, held[i], 3, 5*time.Second)
		try(err)
		for _, r := range replies {
			if r.TTL != 63 {
				t.Errorf("reply of %s with TTL %d, want 63", r.From, r.TTL)
			}
		}
	}
}

func TestConfigIsInTodaysLanguage(t *testing.T) {
	n := &edge.Network{Upstreams: []edge.Upstream{{
		AS: 64496, Port: "up0",
		Address: netip.MustParseAddr("198.51.100.1"), Router: netip.MustParseAddr("198.51.100.2"),
	}}}
	c, err := config.Parse("routerd.conf", []byte(n.Config("/run/routerd/routerd.sock", "")))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Ports) != 2 || c.BGP == nil || len(c.BGP.Neighbors) != 1 || len(c.Policies) != 2 {
		t.Errorf("got %d ports, %d policies, bgp %+v", len(c.Ports), len(c.Policies), c.BGP)
	}
}
