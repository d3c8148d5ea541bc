package main

import (
	"cmp"
	"net/netip"

	"routerd/config"
	"routerd/control/rib"
	"routerd/dataplane/attach"
	"routerd/fib"
)

// setupOf is what a forwarding process for cfg is started with.
func setupOf(cfg *config.Config) attach.Setup {
	d := cfg.Dataplane
	return attach.Setup{Workers: d.Workers, CPUs: d.CPUs, Idle: string(d.Idle), Buffers: d.Buffers}
}

func portList(ports []config.Port) attach.PortList {
	l := attach.PortList{Ports: []attach.Port{}}
	for _, p := range ports {
		l.Ports = append(l.Ports, attach.Port{Name: p.Name, Device: p.Device, Queues: p.Queues, MTU: p.MTU, Addresses: p.Addresses})
	}
	return l
}

// ribPorts joins what is configured with the index and link state that the forwarding
// process reports. A port that it does not have is none.
func ribPorts(ports []config.Port, status []attach.PortStatus) []rib.Port {
	var out []rib.Port
	for _, s := range status {
		if s.Index < 0 {
			continue
		}
		for _, p := range ports {
			if p.Name == s.Name {
				out = append(out, rib.Port{Index: uint16(s.Index), Name: p.Name, Up: s.Up, Addresses: p.Addresses})
			}
		}
	}
	return out
}

var actions = map[config.Action]fib.Action{
	config.ActionForward:     fib.ActionForward,
	config.ActionBlackhole:   fib.ActionBlackhole,
	config.ActionUnreachable: fib.ActionUnreachable,
}

func statics(routes []config.Route) []rib.StaticRoute {
	var out []rib.StaticRoute
	for _, s := range routes {
		out = append(out, rib.StaticRoute{Prefix: s.Prefix, Action: actions[s.Action], Via: s.Via, Distance: uint8(s.Distance)})
	}
	return out
}

func multipath(cfg *config.Config) int {
	if cfg.BGP == nil {
		return 1
	}
	return cmp.Or(cfg.BGP.Multipath, 1)
}

// accepting are the neighbours whose routes are waited for after a restart.
func accepting(cfg *config.Config) []netip.Addr {
	var peers []netip.Addr
	if cfg.BGP != nil {
		for _, n := range cfg.BGP.Neighbors {
			if n.Import != "" {
				peers = append(peers, n.Address)
			}
		}
	}
	return peers
}
