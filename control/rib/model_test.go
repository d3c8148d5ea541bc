package rib

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"routerd/fib"
)

// model computes what the FIB must hold from scratch, from the same facts that a
// RIB was told, slowly and without any memory.
type model struct {
	ports     []Port
	statics   []StaticRoute
	multipath int
	paths     map[modelPeer]map[netip.Prefix]*Path
	session   map[netip.Addr]int
	oldest    map[netip.Addr]int // sessions before are over

	routes map[netip.Prefix][]modelRoute
	hops   map[modelHop]*modelAnswer
}

type modelPeer struct {
	addr    netip.Addr
	session int
}

type modelHop struct {
	gateway netip.Addr
	peer    modelPeer
}

type modelRoute struct {
	source    Source
	distance  uint8
	order     []uint64    // among routes of one source and distance
	hops      []modelHop  // gateways, or
	fixed     fib.NextHop // no gateway
	broadcast bool
	path      *Path
	peer      modelPeer
}

type modelAnswer struct {
	busy, done bool
	resolved   map[fib.NextHop]bool
	asked      map[netip.Prefix]bool
	depth      int
}

func newModel() *model {
	return &model{
		multipath: 1, paths: map[modelPeer]map[netip.Prefix]*Path{},
		session: map[netip.Addr]int{}, oldest: map[netip.Addr]int{},
	}
}

func (m *model) update(c Change) {
	for s := m.oldest[c.Peer]; s <= m.session[c.Peer]; s++ {
		delete(m.paths[modelPeer{c.Peer, s}], c.Prefix)
	}
	if c.Path == nil {
		return
	}
	now := modelPeer{c.Peer, m.session[c.Peer]}
	if m.paths[now] == nil {
		m.paths[now] = map[netip.Prefix]*Path{}
	}
	m.paths[now][c.Prefix] = c.Path
}

func (m *model) drop(peer netip.Addr) {
	m.session[peer]++
	m.sweep(peer)
}

func (m *model) markStale(peer netip.Addr) {
	m.sweep(peer)
	m.session[peer]++
}

func (m *model) sweep(peer netip.Addr) {
	for p := range m.paths {
		if p.addr == peer && p.session < m.session[peer] {
			delete(m.paths, p)
		}
	}
	m.oldest[peer] = m.session[peer]
}

// fib gives the FIB's content as fakeFIB.routes does.
func (m *model) fib() map[string]string {
	m.routes = map[netip.Prefix][]modelRoute{}
	m.hops = map[modelHop]*modelAnswer{}
	m.addConnected()
	m.addStatic()
	for peer, paths := range m.paths {
		for p, path := range paths {
			r := modelRoute{source: EBGP, distance: 20, path: path, peer: peer, hops: []modelHop{{path.NextHop, peer}}}
			if path.Internal {
				r.source, r.distance = IBGP, 200
			}
			m.routes[p] = append(m.routes[p], r)
		}
	}
	for _, routes := range m.routes {
		for _, r := range routes {
			for _, h := range r.hops {
				m.hops[h] = &modelAnswer{}
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(m.hops), compareModelHops)
	for _, h := range order {
		m.resolve(h)
	}
	content := map[string]string{}
	for p := range m.routes {
		nextHops := map[fib.NextHop]bool{}
		for _, r := range m.winners(p) {
			if r.fixed.Action != fib.ActionNoRoute {
				nextHops[r.fixed] = true
			}
			for _, h := range r.hops {
				if m.usable(p, h) {
					maps.Copy(nextHops, m.hops[h].resolved)
				}
			}
		}
		if len(nextHops) > 0 {
			content[p.String()] = formatHops(slices.Collect(maps.Keys(nextHops)))
		}
	}
	return content
}

func compareModelHops(a, b modelHop) int {
	return cmp.Or(a.gateway.Compare(b.gateway), a.peer.addr.Compare(b.peer.addr), cmp.Compare(a.peer.session, b.peer.session))
}

func (m *model) addConnected() {
	for _, port := range m.ports {
		if !port.Up {
			continue
		}
		for _, a := range port.Addresses {
			add := func(p netip.Prefix, action fib.Action, kind uint64, broadcast bool) {
				r := modelRoute{source: Connected, order: []uint64{kind, uint64(port.Index)}, broadcast: broadcast}
				r.fixed = fib.NextHop{Action: action}
				if !broadcast {
					r.fixed.Port = port.Index
				}
				m.routes[p] = append(m.routes[p], r)
			}
			add(netip.PrefixFrom(a.Addr(), 32), fib.ActionLocal, 0, false)
			if a.Bits() < 32 {
				add(a.Masked(), fib.ActionGlean, 2, false)
			}
			if a.Bits() < 31 {
				last := a.Masked().Addr()
				for a.Contains(last.Next()) {
					last = last.Next()
				}
				add(netip.PrefixFrom(a.Masked().Addr(), 32), fib.ActionBlackhole, 1, true)
				add(netip.PrefixFrom(last, 32), fib.ActionBlackhole, 1, true)
			}
		}
	}
}

func (m *model) addStatic() {
	for _, s := range m.statics {
		r := modelRoute{source: Static, distance: max(s.Distance, 1)}
		for _, v := range s.Via {
			r.hops = append(r.hops, modelHop{gateway: v})
		}
		if s.Action != fib.ActionForward {
			r.fixed.Action = s.Action
			r.order = []uint64{uint64(s.Action) << 32}
		} else {
			lowest := slices.MinFunc(s.Via, netip.Addr.Compare)
			r.order = []uint64{uint64(wordOf(lowest))}
		}
		m.routes[s.Prefix] = append(m.routes[s.Prefix], r)
	}
}

func (m *model) usable(p netip.Prefix, h modelHop) bool {
	a := m.hops[h]
	if a.busy {
		return false
	}
	m.resolve(h)
	return len(a.resolved) > 0 && !a.asked[p]
}

func (m *model) resolve(h modelHop) {
	a := m.hops[h]
	if a.done {
		return
	}
	a.busy = true
	a.asked = map[netip.Prefix]bool{}
	a.resolved = map[fib.NextHop]bool{}
	for bits := 32; bits >= 0; bits-- {
		if bits == 0 && h.peer.addr.IsValid() {
			break
		}
		p, _ := h.gateway.Prefix(bits)
		if len(m.routes[p]) == 0 {
			continue
		}
		winners := m.winners(p)
		a.asked[p] = true
		for _, r := range m.routes[p] {
			for _, other := range r.hops {
				if !m.hops[other].busy {
					maps.Copy(a.asked, m.hops[other].asked)
				}
			}
		}
		if len(winners) == 0 {
			continue
		}
		for _, r := range winners {
			for _, other := range r.hops {
				if m.usable(p, other) {
					maps.Copy(a.resolved, m.hops[other].resolved)
					a.depth = max(a.depth, m.hops[other].depth+1)
				}
			}
			switch {
			case len(r.hops) > 0 || r.broadcast || r.fixed.Action == fib.ActionLocal:
			case r.fixed.Action == fib.ActionGlean:
				a.resolved[fib.NextHop{Action: fib.ActionForward, Port: r.fixed.Port, Gateway: h.gateway}] = true
			case bits == 32:
				a.resolved[r.fixed] = true
			}
		}
		a.depth = max(a.depth, 1)
		break
	}
	if a.depth > maxDepth {
		a.resolved = nil
	}
	a.busy, a.done = false, true
}

// winners gives the routes of p that are used.
func (m *model) winners(p netip.Prefix) []modelRoute {
	var hops []modelHop
	for _, r := range m.routes[p] {
		hops = append(hops, r.hops...)
	}
	slices.SortFunc(hops, compareModelHops)
	for _, h := range hops {
		m.usable(p, h)
	}
	var local, bgp []modelRoute
	for _, r := range m.routes[p] {
		ok := len(r.hops) == 0
		for _, h := range r.hops {
			if m.usable(p, h) {
				ok = true
			}
		}
		switch {
		case ok && r.path != nil:
			bgp = append(bgp, r)
		case ok:
			local = append(local, r)
		}
	}
	bgp = m.bestPaths(bgp)
	slices.SortFunc(local, func(a, b modelRoute) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.source, b.source), slices.Compare(a.order, b.order))
	})
	switch {
	case len(local) == 0:
		return bgp
	case len(bgp) == 0 || local[0].distance <= bgp[0].distance:
		return local[:1]
	}
	return bgp
}

func (m *model) bestPaths(paths []modelRoute) []modelRoute {
	rank := func(r modelRoute) string {
		return fmt.Sprintf("%010d %05d %d", ^r.path.LocalPref, r.path.PathLen, r.path.Origin)
	}
	slices.SortFunc(paths, func(a, b modelRoute) int { return cmp.Compare(rank(a), rank(b)) })
	lowest := map[uint32]uint32{}
	var left []modelRoute
	for _, r := range paths {
		if rank(r) != rank(paths[0]) {
			break
		}
		left = append(left, r)
		if med, ok := lowest[r.path.NeighborAS]; !ok || r.path.MED < med {
			lowest[r.path.NeighborAS] = r.path.MED
		}
	}
	left = slices.DeleteFunc(left, func(r modelRoute) bool { return r.path.MED > lowest[r.path.NeighborAS] })
	if slices.ContainsFunc(left, func(r modelRoute) bool { return !r.path.Internal }) {
		left = slices.DeleteFunc(left, func(r modelRoute) bool { return r.path.Internal })
	}
	slices.SortFunc(left, func(a, b modelRoute) int {
		return cmp.Or(a.path.PeerID.Compare(b.path.PeerID), a.peer.addr.Compare(b.peer.addr))
	})
	return left[:min(len(left), m.multipath)]
}
