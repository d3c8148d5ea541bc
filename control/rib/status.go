package rib

import (
	"net/netip"
	"slices"
)

// Status counts what the RIB holds.
type Status struct {
	Prefixes   int // with any candidate
	Connected  int // by the source of the winner
	Static     int
	EBGP       int
	IBGP       int
	Unresolved int // without an eligible candidate: in no FIB
	InFIB      int
	Stale      int // in the FIB since Attach, not yet a route again
	Failed     int // with a winner, refused by the FIB
	Dropping   int // in the FIB by a group that the FIB could not bring to its next hops
	Groups     int
	NextHops   int // with a gateway
	Attached   bool
	Busy       bool // prefixes wait to be decided
}

// Status counts. It takes a time that does not depend on the number of routes.
func (r *RIB) Status() Status {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := Status{
		Prefixes:  r.table.Size4(),
		Connected: r.counts[Connected],
		Static:    r.counts[Static],
		EBGP:      r.counts[EBGP],
		IBGP:      r.counts[IBGP],
		InFIB:     r.installed,
		Stale:     r.unswept.Size(),
		Failed:    len(r.failed),
		Groups:    len(r.groups),
		NextHops:  len(r.nextHops),
		Attached:  r.fib != nil,
		Busy:      len(r.queue) > 0 || r.walk.active,
	}
	s.Unresolved = s.Prefixes - s.Connected - s.Static - s.EBGP - s.IBGP
	for g := range r.broken {
		s.Dropping += g.users
	}
	return s
}

// Failure is a route that the FIB refused.
type Failure struct {
	Prefix netip.Prefix
	Err    error
}

// Failures gives up to limit routes that the FIB refused, in order.
func (r *RIB) Failures(limit int) []Failure {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var failures []Failure
	for e, err := range r.failed {
		if len(failures) == limit {
			break
		}
		failures = append(failures, Failure{e.prefix(), err})
	}
	slices.SortFunc(failures, func(a, b Failure) int { return a.Prefix.Compare(b.Prefix) })
	return failures
}

// NextHop is a gateway that routes use, and what it resolves to.
type NextHop struct {
	Gateway netip.Addr
	Peer    netip.Addr // the BGP peer that announced it; zero: static routes
	Hops    []Hop
	Problem string         // why Hops is empty
	Through []netip.Prefix // the prefixes whose routes were asked for it, the longest match first
	Routes  int            // candidates that use it
}

// NextHops gives every gateway that routes use, in the order of their addresses.
func (r *RIB) NextHops() []NextHop {
	r.mu.RLock()
	defer r.mu.RUnlock()
	sorted := make([]*nextHop, 0, len(r.nextHops))
	for h := range r.nextHops {
		sorted = append(sorted, h)
	}
	slices.SortFunc(sorted, compareNextHops)
	views := make([]NextHop, len(sorted))
	for i, h := range sorted {
		v := NextHop{Gateway: h.gateway, Hops: r.viewHops(h.resolved), Problem: h.problem}
		if h.peer != nil {
			v.Peer = h.peer.addr
		}
		for _, key := range h.asked {
			v.Through = append(v.Through, prefixOf(key))
		}
		for p := range h.static {
			v.Routes += len(p.users)
		}
		for _, p := range h.paths {
			v.Routes += len(p.users)
		}
		views[i] = v
	}
	return views
}
