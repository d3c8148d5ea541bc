package config

import (
	"net/netip"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

const ipv4Only = "is IPv6; routerd forwards IPv4 only"

// address reads an IPv4 address.
func (d *decoder) address(at hcl.Range, what, text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil && strings.Contains(text, "/"):
		d.found.add(at, "%s %q has a length; write the address alone", what, printable(text))
	case err != nil:
		d.found.add(at, "%s %q is no IPv4 address", what, printable(text))
	case !a.Is4():
		d.found.add(at, "%s %q %s", what, text, ipv4Only)
	default:
		return a, true
	}
	return netip.Addr{}, false
}

// prefix reads an IPv4 address with a length; the host bits may be set.
func (d *decoder) prefix(at hcl.Range, what, text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil && !strings.Contains(text, "/"):
		d.found.add(at, "%s %q has no length; write for example \"%s/24\"", what, printable(text), printable(text))
	case err != nil:
		d.found.add(at, "%s %q is no IPv4 prefix", what, printable(text))
	case !p.Addr().Is4():
		d.found.add(at, "%s %q %s", what, text, ipv4Only)
	default:
		return p, true
	}
	return netip.Prefix{}, false
}

// network reads an IPv4 prefix that has no host bits set.
func (d *decoder) network(at hcl.Range, what, text string) (netip.Prefix, bool) {
	p, ok := d.prefix(at, what, text)
	if ok && p != p.Masked() {
		d.found.add(at, "%s %s has host bits set; did you mean %q?", what, p, p.Masked())
		return p.Masked(), false
	}
	return p, ok
}

var special = []struct {
	prefix netip.Prefix
	use    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "in 0.0.0.0/8, which means \"this network\" (RFC 1122)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address (RFC 1122)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address (RFC 1112)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "in the reserved class E, 240.0.0.0/4 (RFC 1112)"},
}

// unicast refuses an address that no single host on a link can have.
func (d *decoder) unicast(at hcl.Range, what string, a netip.Addr) bool {
	if use := specialUse(netip.PrefixFrom(a, 32)); use != "" {
		d.found.add(at, "%s %s is %s", what, a, use)
		return false
	}
	return true
}

// specialUse says what all addresses of p are reserved for, empty where they are not.
func specialUse(p netip.Prefix) string {
	for _, s := range special {
		if s.prefix.Bits() <= p.Bits() && s.prefix.Contains(p.Addr()) {
			return s.use
		}
	}
	return ""
}

// host refuses the network and the broadcast address of a subnet, which no host
// has; /31 (RFC 3021) and /32 have neither.
func (d *decoder) host(at hcl.Range, what string, a netip.Addr, subnet netip.Prefix) bool {
	if subnet.Bits() >= 31 {
		return true
	}
	switch a {
	case subnet.Masked().Addr():
		d.found.add(at, "%s %s is the network address of %s", what, a, subnet.Masked())
	case lastAddress(subnet):
		d.found.add(at, "%s %s is the broadcast address of %s", what, a, subnet.Masked())
	default:
		return true
	}
	return false
}

// lastAddress is the address of an IPv4 prefix with all host bits set.
func lastAddress(p netip.Prefix) netip.Addr {
	a := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		a[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(a)
}

// subnets is what the ports' addresses say: the own addresses and the subnets.
type subnets struct {
	port   map[netip.Addr]string   // own address -> name of its port
	subnet map[netip.Prefix]string // subnet -> name of its port
}

func newSubnets() subnets {
	return subnets{port: make(map[netip.Addr]string), subnet: make(map[netip.Prefix]string)}
}

// covering finds the subnet of at most bits that holds a, and its port.
func (s subnets) covering(a netip.Addr, bits int) (netip.Prefix, string, bool) {
	for ; bits >= 0; bits-- {
		p := netip.PrefixFrom(a, bits).Masked()
		if port, ok := s.subnet[p]; ok {
			return p, port, true
		}
	}
	return netip.Prefix{}, "", false
}

// remote reads the address of another host: unicast, none of the own addresses, and
// no network or broadcast address of a port's subnet.
func (d *decoder) remote(at hcl.Range, what, text string) (netip.Addr, bool) {
	a, ok := d.address(at, what, text)
	if !ok {
		return a, false
	}
	if port, own := d.own.port[a]; own {
		d.found.add(at, "%s %s is the router's own address, on port %q", what, a, port)
		return a, false
	}
	if subnet, _, found := d.own.covering(a, 32); found {
		ok = d.host(at, what, a, subnet)
	}
	return a, ok
}
