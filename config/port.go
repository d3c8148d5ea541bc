package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

const (
	maxQueues = 64
	minMTU    = 68 // RFC 791: every link carries it
	maxMTU    = 9216
)

var portPattern = regexp.MustCompile(`^[a-z][a-z0-9.-]{0,14}$`)

func (d *decoder) ports(sections []*section) {
	d.own = newSubnets()
	devices := make(map[string]string) // device -> port
	var all []portAddress
	for _, s := range sections {
		p := Port{Name: s.label, Description: d.description(s)}
		if !portPattern.MatchString(p.Name) {
			d.found.add(s.name, "port %q: a name has 1 to 15 small letters, digits, dots and dashes and starts with a letter", printable(p.Name))
		}
		p.Queues = int(s.number("queues", int64(d.config.Dataplane.Workers), 1, maxQueues))
		if s.has("mtu") {
			p.MTU = int(s.number("mtu", minMTU, minMTU, maxMTU))
		}
		if s.require("device", `"xdp:eth0"`) {
			p.Device = d.device(s.at("device"), s.text("device", ""))
			if other, taken := devices[p.Device]; taken && p.Device != "" {
				d.found.add(s.at("device"), "device %q already belongs to port %q", p.Device, other)
			}
			devices[p.Device] = p.Name
		}
		for _, a := range d.portAddresses(s) {
			p.Addresses = append(p.Addresses, a.prefix)
			all = append(all, a)
		}
		d.config.Ports = append(d.config.Ports, p)
	}
	d.overlaps(all)
}

// portAddress is one address of a port with its place in the file.
type portAddress struct {
	port   string
	prefix netip.Prefix
	at     hcl.Range
}

func (d *decoder) portAddresses(s *section) []portAddress {
	var list []portAddress
	for _, item := range s.list("addresses") {
		p, ok := d.prefix(item.at, "address", item.text)
		if !ok || !d.unicast(item.at, "address", p.Addr()) || !d.host(item.at, "address", p.Addr(), p) {
			continue
		}
		if p.Bits() == 0 {
			d.found.add(item.at, "address %s: a subnet can not hold every address", p)
			continue
		}
		if other, taken := d.own.port[p.Addr()]; taken {
			d.found.add(item.at, "address %s is already on port %q", p.Addr(), other)
			continue
		}
		d.own.port[p.Addr()] = s.label
		list = append(list, portAddress{s.label, p, item.at})
	}
	return list
}

// overlaps finds subnets that reach into a subnet of another port, larger ones
// first, and fills d.own.subnet.
func (d *decoder) overlaps(all []portAddress) {
	slices.SortStableFunc(all, func(a, b portAddress) int { return cmp.Compare(a.prefix.Bits(), b.prefix.Bits()) })
	for _, a := range all {
		subnet, port, found := d.own.covering(a.prefix.Addr(), a.prefix.Bits())
		if found && port != a.port {
			d.found.add(a.at, "address %s overlaps %s of port %q", a.prefix, subnet, port)
			continue
		}
		d.own.subnet[a.prefix.Masked()] = a.port
	}
}

const deviceKinds = "xdp:IFNAME, pci:DDDD:BB:DD.F, netmap:NAME and pipe:NAME"

var devicePatterns = map[string]*regexp.Regexp{
	"xdp":    regexp.MustCompile(`^[^\s/:\pC]{1,15}$`),
	"pci":    regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$`),
	"netmap": regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:{}-]{0,63}$`),
	"pipe":   regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`),
}

var deviceForms = map[string]string{
	"xdp":    "xdp:IFNAME, an interface name of at most 15 characters, for example \"xdp:eth0\"",
	"pci":    "pci:DDDD:BB:DD.F, for example \"pci:0000:03:00.0\"",
	"netmap": "netmap:NAME, for example \"netmap:vcxl0\"",
	"pipe":   "pipe:NAME, for example \"pipe:left\"",
}

// device reads a device string; a PCI address is written in small letters.
func (d *decoder) device(at hcl.Range, text string) string {
	kind, name, _ := strings.Cut(text, ":")
	pattern, known := devicePatterns[kind]
	if !known {
		hint := ""
		if guess := "xdp:" + text; !strings.Contains(text, ":") && devicePatterns["xdp"].MatchString(text) {
			hint = fmt.Sprintf("; did you mean %q?", guess)
		}
		d.found.add(at, "device %q is of no known kind; the kinds are %s%s", printable(text), deviceKinds, hint)
		return ""
	}
	if kind == "pci" {
		name = strings.ToLower(name)
	}
	if !pattern.MatchString(name) || name == "." || name == ".." {
		d.found.add(at, "device %q is not of the form %s", printable(text), deviceForms[kind])
		return ""
	}
	return kind + ":" + name
}
