package config

import "net/netip"

// maxPaths is the largest number of next hops of one route.
const maxPaths = 16

func (d *decoder) routes(sections []*section) {
	for _, s := range sections {
		r := Route{Distance: int(s.number("distance", 1, 1, 255))}
		prefix, ok := d.network(s.name, "route", s.label)
		r.Prefix = prefix
		r.Action, r.Via = d.routeAction(s)
		if use := specialUse(prefix); ok && use != "" && r.Action == ActionForward {
			d.found.add(s.name, "route %s is not forwarded, it is %s; only an action is possible", prefix, use)
		}
		d.config.Routes = append(d.config.Routes, r)
	}
}

func (d *decoder) routeAction(s *section) (Action, []netip.Addr) {
	switch {
	case s.has("action") && s.has("via"):
		d.found.add(s.at("action"), "%s has both action and via: keep one", s.title())
	case s.has("action"):
		return Action(s.word("action", string(ActionBlackhole), string(ActionBlackhole), string(ActionUnreachable))), nil
	case !s.has("via"):
		if d.whole {
			d.found.add(s.header, "%s has neither via nor action: add via = [\"192.0.2.1\"] or action = \"blackhole\"", s.title())
		}
		return ActionForward, nil
	}
	return ActionForward, d.via(s)
}

func (d *decoder) via(s *section) []netip.Addr {
	var hops []netip.Addr
	seen := make(map[netip.Addr]bool)
	for _, item := range s.list("via") {
		hop, ok := d.remote(item.at, "next hop", item.text)
		if !ok || !d.unicast(item.at, "next hop", hop) {
			continue
		}
		if seen[hop] {
			d.found.add(item.at, "next hop %s stands twice", hop)
			continue
		}
		seen[hop] = true
		hops = append(hops, hop)
	}
	if len(hops) > maxPaths {
		d.found.add(s.at("via"), "via has %d next hops; at most %d are possible", len(hops), maxPaths)
	}
	return hops
}
