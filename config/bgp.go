package config

import (
	"net/netip"
	"path"
	"time"
)

const (
	defaultBGPPort         = 179
	defaultHoldTime        = 90 * time.Second
	defaultGracefulRestart = 120 * time.Second
	maxHops                = 255
)

func (d *decoder) bgp(s *section) {
	if s == nil {
		return
	}
	b := &BGP{
		ListenPort:      int(s.number("listen_port", defaultBGPPort, 1, 65535)),
		Multipath:       int(s.number("multipath", 1, 1, maxPaths)),
		GracefulRestart: s.seconds("graceful_restart", defaultGracefulRestart, time.Second, 4095*time.Second),
	}
	d.config.BGP = b
	if d.whole {
		d.bgpIdentity(s)
	}
	first := make(map[netip.Addr]*section)
	for _, child := range s.children {
		switch child.kind.name {
		case "neighbor":
			d.neighbor(child, "", first)
		case "group":
			d.group(child, first)
		}
	}
}

// bgpIdentity checks that the router has what every BGP session needs.
func (d *decoder) bgpIdentity(s *section) {
	r := d.config.Router
	if r.AS == 0 {
		d.found.add(s.header, "bgp needs the router's AS number: add router { as = 64500 } with your own")
	} else if !r.ID.IsValid() {
		d.found.add(s.header, "bgp needs a router id: add id = \"192.0.2.1\" to router, or give a port an address")
	}
}

// group decodes the neighbors of a group, which inherit its arguments. The group's
// own arguments are checked even where it has no neighbors.
func (d *decoder) group(s *section, first map[netip.Addr]*section) {
	name := d.label(s)
	d.session(s)
	for _, child := range s.all("neighbor") {
		child.inherits = s
		d.neighbor(child, name, first)
	}
}

func (d *decoder) neighbor(s *section, group string, first map[netip.Addr]*section) {
	n := d.session(s)
	n.Group = group
	n.Description = d.description(s)
	s.require("as", "64496")
	a, ok := d.remote(s.name, "neighbor", s.label)
	if !ok {
		return
	}
	n.Address = a
	if !a.IsLoopback() { // a route collector or a looking glass on this host
		d.unicast(s.name, "neighbor", a)
	}
	if other := first[a]; other != nil {
		d.found.add(s.name, "%s stands twice, first in line %d", s.title(), other.name.Start.Line)
		return
	}
	first[a] = s
	if n.Multihop > 1 && n.Internal(d.config.Router.AS) {
		d.found.add(s.at("multihop"), "multihop is for eBGP; %s is in our own AS and may be any number of hops away", s.title())
	}
	d.config.BGP.Neighbors = append(d.config.BGP.Neighbors, n)
}

// session decodes the arguments that a neighbor and a group share.
func (d *decoder) session(s *section) Neighbor {
	n := Neighbor{
		Import:       d.policyName(s, "import"),
		Export:       d.policyName(s, "export"),
		Port:         int(s.number("port", defaultBGPPort, 1, 65535)),
		Passive:      s.flag("passive"),
		HoldTime:     s.seconds("hold_time", defaultHoldTime, 3*time.Second, 65535*time.Second),
		PasswordFile: s.text("password_file", ""),
		TTLSecurity:  s.flag("ttl_security"),
		Multihop:     int(s.number("multihop", 1, 1, maxHops)),
		Prepend:      int(s.number("prepend", 0, 0, maxPrepend)),
	}
	if s.has("as") {
		n.AS = d.autonomousSystem(s)
	}
	if s.has("max_prefixes") {
		n.MaxPrefixes = int(s.number("max_prefixes", 1, 1, 1<<32-1))
	}
	if s.has("password_file") {
		d.absolute(s, "password_file", n.PasswordFile)
	}
	if n.TTLSecurity && n.Multihop > 1 {
		d.found.add(s.at("ttl_security"), "ttl_security and multihop exclude each other: keep one")
	}
	return n
}

// absolute checks a path of a file.
func (d *decoder) absolute(s *section, argument, file string) {
	d.printable(s.at(argument), argument, file)
	if !path.IsAbs(file) {
		d.found.add(s.at(argument), "%s %q must be an absolute path", argument, printable(file))
	}
}

func (d *decoder) policyName(s *section, argument string) string {
	if !s.has(argument) {
		return ""
	}
	name := s.text(argument, "")
	if d.whole && !d.policyNames[name] {
		undefined(d, s.at(argument), "policy", name, d.policyNames)
	}
	return name
}
