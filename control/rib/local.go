package rib

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"routerd/fib"
)

// localKey identifies a connected or static route by its content, so that setting
// the same again changes nothing.
type localKey struct {
	prefix   netip.Prefix
	fixed    fixedKey // connected, and static without gateways
	static   bool
	distance uint8
	via      string
}

// SetPorts replaces the ports. Ports that are up make connected routes: their
// subnets, their own addresses, and the network and broadcast address of every
// subnet of /30 and shorter, which are dropped.
func (r *RIB) SetPorts(ports []Port) {
	r.change(func() {
		clear(r.ports)
		want := map[localKey]*path{}
		for _, p := range ports {
			p.Addresses = slices.Clone(p.Addresses)
			r.ports[p.Index] = p
			if !p.Up {
				continue
			}
			for _, a := range p.Addresses {
				addConnected(want, p.Index, a)
			}
		}
		r.setLocals(false, want)
	})
}

func addConnected(to map[localKey]*path, port uint16, a netip.Prefix) {
	if !a.Addr().Is4() || !a.IsValid() {
		return
	}
	connected := func(p netip.Prefix, k fixedKey, detail string, rank uint64) {
		to[localKey{prefix: p, fixed: k}] = &path{source: Connected, detail: detail, rank: rank<<16 | uint64(k.port)}
	}
	connected(netip.PrefixFrom(a.Addr(), 32), fixedKey{action: fib.ActionLocal, port: port}, "own address", 0)
	if a.Bits() == 32 {
		return
	}
	subnet := a.Masked()
	connected(subnet, fixedKey{action: fib.ActionGlean, port: port}, "", 2)
	if a.Bits() == 31 {
		return
	}
	first := wordOf(subnet.Addr())
	for _, word := range []uint32{first, first | ^uint32(0)>>a.Bits()} {
		connected(netip.PrefixFrom(addrOf(word), 32),
			fixedKey{action: fib.ActionBlackhole, port: port, broadcast: true}, "broadcast", 1)
	}
}

// SetStatics replaces the static routes. Routes that are not IPv4, or forward to no
// gateway, are left out; host bits of a prefix are ignored.
func (r *RIB) SetStatics(routes []StaticRoute) {
	r.change(func() {
		want := map[localKey]*path{}
		for _, s := range routes {
			if !s.Prefix.IsValid() || !s.Prefix.Addr().Is4() || s.Action == fib.ActionForward && len(s.Via) == 0 {
				r.log.Warn("static route left out: it is not IPv4, or forwards to no gateway", "prefix", s.Prefix)
				continue
			}
			s.Prefix = s.Prefix.Masked()
			s.Via = slices.Clone(s.Via)
			slices.SortFunc(s.Via, netip.Addr.Compare)
			s.Via = slices.Compact(s.Via)
			s.Distance = cmp.Or(s.Distance, DistanceStatic)
			k := localKey{prefix: s.Prefix, static: true, distance: s.Distance, via: fmt.Sprint(s.Via)}
			if s.Action != fib.ActionForward {
				k.via, s.Via = "", nil
				k.fixed.action = s.Action
			}
			want[k] = &path{source: Static, distance: s.Distance, static: &s, rank: rankOf(s)}
		}
		r.setLocals(true, want)
	})
}

// rankOf orders static routes of one prefix and distance: those that forward
// first, by their lowest gateway.
func rankOf(s StaticRoute) uint64 {
	if len(s.Via) == 0 {
		return uint64(s.Action) << 32
	}
	if !s.Via[0].Is4() {
		return 0
	}
	return uint64(wordOf(s.Via[0]))
}

// setLocals brings the static routes, or the connected ones, to want.
func (r *RIB) setLocals(static bool, want map[localKey]*path) {
	for k, p := range r.locals {
		if _, keep := want[k]; keep || k.static != static {
			continue
		}
		e := p.users[0]
		r.remove(e, e.find(func(q *path) bool { return q == p }))
		delete(r.locals, k)
	}
	for k, p := range want {
		if _, have := r.locals[k]; have {
			continue
		}
		if p.static != nil && p.static.Action == fib.ActionForward {
			for _, gateway := range p.static.Via {
				p.hops = append(p.hops, r.staticNextHop(gateway))
			}
		} else {
			p.hops = []*nextHop{r.fixedNextHop(k.fixed)}
		}
		for _, h := range p.hops {
			h.static[p] = struct{}{}
		}
		r.locals[k] = p
		r.add(r.entryFor(k.prefix), p)
	}
}

// localRoutes gives the prefixes in use that are connected or static, in order.
// Own addresses count where they are the whole subnet; broadcasts do not.
func (r *RIB) localRoutes() []netip.Prefix {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var prefixes []netip.Prefix
	for k, p := range r.locals {
		if e := p.users[0]; e.winner == noSource || e.candidates[0].path != p {
			continue
		}
		if !k.static && k.fixed.action != fib.ActionGlean && !r.isHostSubnet(k) {
			continue
		}
		prefixes = append(prefixes, k.prefix)
	}
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	return prefixes
}

// isHostSubnet reports whether k is an own address that was given with length 32.
func (r *RIB) isHostSubnet(k localKey) bool {
	return k.fixed.action == fib.ActionLocal && slices.Contains(r.ports[k.fixed.port].Addresses, k.prefix)
}

// tellLocalRoutes calls OnLocalRoutes where they changed.
func (r *RIB) tellLocalRoutes() {
	if r.onLocalRoutes == nil {
		return
	}
	r.local.Lock()
	defer r.local.Unlock()
	if now := r.localRoutes(); !slices.Equal(now, r.local.told) {
		r.local.told = now
		r.onLocalRoutes(slices.Clone(now))
	}
}
