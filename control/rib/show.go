package rib

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"routerd/fib"
)

// Route is one prefix as the operator sees it: a copy, free to keep.
type Route struct {
	Prefix     netip.Prefix
	Candidates []Candidate // the best first, then the others in use, then those that lost latest
	NextHops   []Hop       // what the prefix forwards to; empty: no candidate is eligible
	Backup     []Hop       // what it would forward to without those
	InFIB      bool
	Group      uint16    // in the FIB, where InFIB
	Problem    string    // why it is not in the FIB, or drops there, where it should forward
	Since      time.Time // last change of the winners, to the second
}

// Winner gives the best candidate, or nil.
func (r *Route) Winner() *Candidate {
	if len(r.NextHops) == 0 {
		return nil
	}
	return &r.Candidates[0]
}

// Candidate is one route for a prefix.
type Candidate struct {
	Source   Source
	Distance uint8
	Used     bool
	Loses    Reason     // why it is not used
	Action   fib.Action // ActionForward where it has gateways
	Via      []Via      // gateways; empty: the route has none
	Port     string     // connected: the port
	Detail   string     // connected: "own address", "broadcast" or empty
	Peer     netip.Addr // BGP
	Path     *Path      // BGP
	Stale    bool       // BGP: from before the peer's graceful restart
}

// Via is a gateway as a route names it, with what it resolves to.
type Via struct {
	Gateway netip.Addr
	Hops    []Hop
	Problem string // why Hops is empty
}

// Hop is a next hop as the FIB has it.
type Hop struct {
	fib.NextHop
	PortName string // empty where the action has no port
}

// Get gives the route for exactly p.
func (r *RIB) Get(p netip.Prefix) (Route, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.table.Get(p)
	if !ok {
		return Route{}, false
	}
	return r.view(e), true
}

// Lookup gives the route that a packet to a takes.
func (r *RIB) Lookup(a netip.Addr) (Route, bool) {
	for _, route := range r.Covering(a) {
		if len(route.NextHops) > 0 {
			return route, true
		}
	}
	return Route{}, false
}

// Covering gives every route whose prefix covers a, the most specific first, with
// those for which no candidate is eligible.
func (r *RIB) Covering(a netip.Addr) []Route {
	if !a.Is4() {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	var routes []Route
	for _, e := range r.table.Supernets(netip.PrefixFrom(a, 32)) {
		routes = append(routes, r.view(e))
	}
	return routes
}

// Routes iterates over the routes within p in the order of address, then length;
// 0.0.0.0/0 stands for all. The lock is held for a few hundred routes at a time and
// never while the caller has the turn: a route that changes meanwhile is seen
// before or after, every other one exactly once.
func (r *RIB) Routes(within netip.Prefix) iter.Seq[Route] {
	return inChunks(r, 256, within, r.table.Subnets, func(_ netip.Prefix, e *entry) Route { return r.view(e) })
}

// Stale iterates over the prefixes within p that were in the FIB at Attach and have
// not become routes since, in the order of address, then length. It holds the lock as
// Routes does.
func (r *RIB) Stale(within netip.Prefix) iter.Seq[netip.Prefix] {
	return inChunks(r, 1024, within, r.unsweptWithin, func(p netip.Prefix, _ struct{}) netip.Prefix { return p })
}

func (r *RIB) unsweptWithin(within netip.Prefix) iter.Seq2[netip.Prefix, struct{}] {
	return func(yield func(netip.Prefix, struct{}) bool) {
		for p := range r.unswept.Subnets(within) {
			if !yield(p, struct{}{}) {
				return
			}
		}
	}
}

func (r *RIB) view(e *entry) Route {
	v := Route{
		Prefix:     e.prefix(),
		Candidates: make([]Candidate, len(e.candidates)),
		InFIB:      r.inFIB(e),
		Since:      r.epoch.Add(time.Duration(e.since) * time.Second),
	}
	why := make([]Reason, len(e.candidates))
	for i, c := range e.candidates {
		why[i] = r.eligible(e, c.path)
	}
	r.decide(e.candidates, why)
	for i, c := range e.candidates {
		v.Candidates[i] = r.viewCandidate(c.path, why[i])
	}
	slices.SortStableFunc(v.Candidates, func(a, b Candidate) int {
		if a.Used != b.Used {
			if a.Used {
				return -1
			}
			return 1
		}
		return int(b.Loses) - int(a.Loses)
	})
	if e.group == nil {
		return v
	}
	v.NextHops = r.viewHops(e.group.members)
	var backup []fib.NextHop
	for _, h := range e.group.backup {
		if h.live() {
			backup = append(backup, h.resolved...)
		}
	}
	v.Backup = r.viewHops(backup)
	if v.InFIB {
		v.Group = e.group.index
		if e.group.err != nil {
			v.Problem = "its next hops are not in FIB: " + e.group.err.Error()
		}
	} else if err := r.failed[e]; err != nil {
		v.Problem = "not in FIB: " + err.Error()
	}
	return v
}

func (r *RIB) viewCandidate(p *path, why Reason) Candidate {
	c := Candidate{
		Source: p.source, Distance: p.distance, Used: why == Used, Loses: why,
		Action: fib.ActionForward, Detail: p.detail,
	}
	for _, h := range p.hops {
		if !h.gateway.IsValid() {
			c.Action = h.kind.action
			if p.source == Connected {
				c.Port = r.ports[h.kind.port].Name
			}
			continue
		}
		c.Via = append(c.Via, Via{Gateway: h.gateway, Hops: r.viewHops(h.resolved), Problem: h.problem})
	}
	if s := p.peer; s != nil {
		c.Peer = s.addr
		c.Stale = r.stale[s.addr] == s
		c.Path = &Path{
			PeerAS: s.as, PeerID: s.id, Internal: s.internal,
			NextHop: p.hops[0].gateway, Preference: p.content.Preference, Attrs: p.content.attrs,
		}
	}
	return c
}

func (r *RIB) viewHops(nextHops []fib.NextHop) []Hop {
	hops := make([]Hop, len(nextHops))
	for i, nh := range nextHops {
		hops[i].NextHop = nh
		if nh.Action == fib.ActionForward || nh.Action == fib.ActionGlean || nh.Action == fib.ActionLocal {
			hops[i].PortName = r.ports[nh.Port].Name
		}
	}
	return hops
}
