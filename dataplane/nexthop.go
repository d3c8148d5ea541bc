package dataplane

import (
	"maps"
	"slices"

	"routerd/dataplane/packet"
	"routerd/fib"
)

// hop is a next hop of the FIB, and the neighbour where it has a gateway.
type hop struct {
	is       fib.NextHop
	neighbor *neighbor
}

// define takes the definition of a next hop from the FIB and makes its adjacency.
func (s *slowPath) define(i uint16) {
	s.detach(i)
	is := s.table.NextHop(i)
	s.state.adj[i].used.Store(0)
	if is.Action == fib.ActionNoRoute {
		s.state.adj[i].setKind(AdjNoRoute, 0, 0)
		delete(s.hops, i)
		return
	}
	s.hops[i] = &hop{is: is}
	s.attach(i)
}

// attach sets the adjacency of a next hop by its definition and the state of its port. The
// search for a gateway starts at once.
func (s *slowPath) attach(i uint16) {
	h, a := s.hops[i], &s.state.adj[i]
	switch h.is.Action {
	case fib.ActionLocal:
		a.setKind(AdjLocal, 0, 0)
		return
	case fib.ActionBlackhole:
		a.setKind(AdjBlackhole, 0, 0)
		return
	case fib.ActionUnreachable:
		a.setKind(AdjUnreachable, 0, 0)
		return
	}
	var p *port
	if h.is.Port < MaxPorts {
		p = s.ports[h.is.Port]
	}
	switch {
	case p == nil || !p.up:
		a.setKind(AdjPortDown, 0, 0)
	case h.is.Action == fib.ActionGlean:
		a.setKind(AdjGlean, p.index, p.mtu)
	default:
		s.attachGateway(i, h, p)
	}
}

func (s *slowPath) attachGateway(i uint16, h *hop, p *port) {
	key := neighborKey{p.index, packet.FromAddr(h.is.Gateway)}
	n := s.neighbors[key]
	isNew := n == nil
	if isNew {
		n = s.newNeighbor(key)
	} else if !n.pinned() && !n.resolved() {
		s.unanswered--
	}
	n.hops = append(n.hops, i)
	h.neighbor = n
	switch {
	case isNew || n.state == Failed:
		s.resolve(n)
	case n.resolved():
		s.state.adj[i].setReady(n.mac, p.mac, p.index, p.mtu)
	default:
		s.state.adj[i].setKind(AdjUnresolved, p.index, p.mtu)
	}
}

// detach parts a next hop from its neighbour, which stays as long as it would unnamed.
func (s *slowPath) detach(i uint16) {
	h := s.hops[i]
	if h == nil || h.neighbor == nil {
		return
	}
	n := h.neighbor
	h.neighbor = nil
	n.hops = slices.DeleteFunc(n.hops, func(j uint16) bool { return j == i })
	if !n.pinned() && !n.resolved() {
		s.unanswered++
	}
}

// dropDeadHops forgets the next hops of a neighbour that control has freed meanwhile.
func (s *slowPath) dropDeadHops(n *neighbor) {
	for _, i := range slices.Clone(n.hops) {
		if s.table.NextHop(i) != s.hops[i].is {
			s.define(i)
		}
	}
}

// setLink follows a port's link: down, everything over it stops at once; up, its gateways
// are searched anew.
func (s *slowPath) setLink(p *port, up bool) {
	if p.up == up {
		return
	}
	p.up = up
	s.log.Info("link", "port", p.name, "up", up)
	if !up {
		s.clearNeighbors(p, func(*neighbor) bool { return true })
	}
	s.attachPort(p.index)
}

// attachPort sets the adjacencies of all next hops over a port anew.
func (s *slowPath) attachPort(index int) {
	for _, i := range slices.Sorted(maps.Keys(s.hops)) {
		if h := s.hops[i]; int(h.is.Port) == index && (h.is.Action == fib.ActionForward || h.is.Action == fib.ActionGlean) {
			s.detach(i)
			s.attach(i)
		}
	}
}

// clearNeighbors forgets the neighbours of a port that which chooses.
func (s *slowPath) clearNeighbors(p *port, which func(*neighbor) bool) {
	for key, n := range s.neighbors {
		if key.port != p.index || !which(n) {
			continue
		}
		for _, i := range slices.Clone(n.hops) {
			s.detach(i)
		}
		s.release(n, func(t traveller) { s.drop(t, DropPortDown) })
		s.forget(n)
	}
}
