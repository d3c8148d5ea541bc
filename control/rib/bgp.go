package rib

import (
	"maps"
	"net/netip"
	"slices"
)

// UpdateBGP takes changes of BGP paths, in their order. A path replaces the one
// that the same peer announced for the prefix before. Changes for prefixes that
// are not IPv4 are ignored; host bits are.
func (r *RIB) UpdateBGP(changes []Change) {
	for part := range slices.Chunk(changes, chunk) {
		r.change(func() {
			for i := range part {
				r.applyBGP(&part[i])
			}
		})
	}
}

func (r *RIB) applyBGP(c *Change) {
	if !c.Prefix.IsValid() || !c.Prefix.Addr().Is4() {
		return
	}
	prefix := c.Prefix.Masked()
	if c.Path == nil {
		if e, ok := r.table.Get(prefix); ok {
			if i := e.findPeer(c.Peer); i >= 0 {
				r.remove(e, i)
			}
		}
		return
	}
	p := r.pathOf(c.Peer, c.Path)
	e := r.entryFor(prefix)
	switch i := e.findPeer(c.Peer); {
	case i < 0:
		r.add(e, p)
	case e.candidates[i].path != p:
		r.replace(e, i, p)
	}
}

// findPeer gives the index of the candidate that the peer at addr announced, in
// this session or one that is stale, or -1.
func (e *entry) findPeer(addr netip.Addr) int {
	for i, c := range e.candidates {
		if p := c.path.peer; p != nil && p.addr == addr && !p.down {
			return i
		}
	}
	return -1
}

// pathOf finds or makes the path that the peer at addr announces as p.
func (r *RIB) pathOf(addr netip.Addr, p *Path) *path {
	s := r.peers[addr]
	if s != nil && (s.as != p.PeerAS || s.id != p.PeerID || s.internal != p.Internal) {
		r.end(s) // another neighbour than before under this address
		s = nil
	}
	if s == nil {
		s = &peer{addr: addr, as: p.PeerAS, id: p.PeerID, internal: p.Internal, hops: map[netip.Addr]*nextHop{}}
		r.peers[addr] = s
	}
	h := s.hops[p.NextHop]
	if h == nil {
		h = r.newNextHop(&nextHop{peer: s, gateway: p.NextHop, paths: map[content]*path{}})
		s.hops[p.NextHop] = h
	}
	c := content{p.Preference, p.Attrs}
	q := h.paths[c]
	if q == nil {
		q = &path{source: EBGP, distance: DistanceEBGP, hops: []*nextHop{h}, peer: s, content: c}
		if s.internal {
			q.source, q.distance = IBGP, DistanceIBGP
		}
		h.paths[c] = q
	}
	return q
}

// DropPeer forgets every path of a peer whose session is down. Its next hops leave
// all groups first; then the prefixes follow, chunk by chunk.
func (r *RIB) DropPeer(addr netip.Addr) {
	r.change(func() {
		r.end(r.peers[addr])
		r.end(r.stale[addr])
		delete(r.peers, addr)
		delete(r.stale, addr)
	})
}

// MarkPeerStale says that a peer restarts gracefully (RFC 4724): its paths stay in
// use until they are announced again, until SweepPeer or until DropPeer. Those that
// are stale already, from a restart before, are forgotten.
func (r *RIB) MarkPeerStale(addr netip.Addr) {
	r.change(func() {
		r.end(r.stale[addr])
		delete(r.stale, addr)
		if s := r.peers[addr]; s != nil {
			r.stale[addr] = s
			delete(r.peers, addr)
		}
	})
}

// SweepPeer forgets the paths of a peer that were stale and have not been announced
// since: after its End-of-RIB, or when the restart takes too long.
func (r *RIB) SweepPeer(addr netip.Addr) {
	r.change(func() {
		r.end(r.stale[addr])
		delete(r.stale, addr)
	})
}

// end takes a session's next hops out of use in place, and queues its prefixes.
func (r *RIB) end(s *peer) {
	if s == nil || s.down {
		return
	}
	s.down = true
	repair := map[*group]struct{}{}
	for _, h := range s.hops {
		maps.Copy(repair, h.groups)
	}
	r.repair(repair)
	for _, h := range s.hops {
		r.redecideUsers(h)
	}
	r.recursiveStale = true
}
