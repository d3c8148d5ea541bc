package config

import "fmt"

// Warnings tells what is allowed in c but seldom meant, one sentence each: sessions
// that exchange nothing or can not come up, and names that nobody uses.
func (c *Config) Warnings() []string {
	var warnings []string
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }

	own := newSubnets()
	for _, p := range c.Ports {
		for _, a := range p.Addresses {
			own.subnet[a.Masked()] = p.Name
		}
	}
	used := make(map[string]bool)
	for _, n := range neighbors(c) {
		if n.Import == "" {
			warn("neighbor %s has no import policy: nothing is accepted from it (RFC 8212)", n.Address)
		}
		if n.Export == "" {
			warn("neighbor %s has no export policy: nothing is announced to it (RFC 8212)", n.Address)
		}
		_, _, connected := own.covering(n.Address, 32)
		if !connected && !n.Address.IsLoopback() && !n.Internal(c.Router.AS) && n.Multihop == 1 {
			warn("neighbor %s is in no port's subnet: without multihop its session comes up only over an interface outside of routerd", n.Address)
		}
		used[n.Import], used[n.Export] = true, true
	}
	lists := make(map[string]bool)
	for _, p := range c.Policies {
		for _, t := range p.Terms {
			lists[t.PrefixList] = true
		}
		if !used[p.Name] {
			warn("policy %s is used by no neighbor", p.Name)
		}
	}
	for _, l := range c.PrefixLists {
		if !lists[l.Name] {
			warn("prefix_list %s is used by no policy", l.Name)
		}
	}
	return warnings
}
