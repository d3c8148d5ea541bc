package rib

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"routerd/fib"
)

// Bounds of a resolution. A next hop beyond them is unresolved: no chain of routes
// that a peer invents makes the RIB slow.
const (
	maxDepth = 8   // routes between a next hop and its connected subnet
	maxAsked = 256 // prefixes looked at for one next hop
	maxStack = 64  // next hops being resolved at one time
)

// nextHop is a gateway as a route names it, kept apart for each BGP session and
// for static routes, or a fixed action without a gateway. It counts what it
// resolves to.
type nextHop struct {
	id      uint32
	peer    *peer      // BGP; nil: static or fixed
	gateway netip.Addr // zero: fixed
	kind    fixedKey   // fixed only

	paths  map[content]*path   // BGP: the paths through it
	static map[*path]struct{}  // the others
	groups map[*group]struct{} // those that contain it

	resolved []fib.NextHop // in the order of (port, gateway); empty: unresolved
	problem  string        // why it is unresolved
	asked    []uint64      // keys of the prefixes whose candidates took part in the answer
	depth    int           // routes down to the connected subnet
	marked   bool          // to be resolved again
	busy     bool          // being resolved
}

// fixedKey is the identity of a next hop without a gateway. Broadcasts are kept
// apart from blackhole routes: a gateway on one is a mistake, not a choice.
type fixedKey struct {
	action    fib.Action
	port      uint16
	broadcast bool
}

// live reports whether h can carry traffic at all.
func (h *nextHop) live() bool {
	return len(h.resolved) > 0 && (h.peer == nil || !h.peer.down)
}

func (r *RIB) newNextHop(h *nextHop) *nextHop {
	r.lastID++
	h.id = r.lastID
	h.groups = map[*group]struct{}{}
	if h.gateway.IsValid() {
		r.nextHops[h] = struct{}{}
		r.markNextHop(h)
		if h.gateway.Is4() {
			at := netip.PrefixFrom(h.gateway, 32)
			same, _ := r.gateways.Get(at)
			r.gateways.Insert(at, append(slices.Clone(same), h))
		}
	}
	return h
}

func (r *RIB) fixedNextHop(k fixedKey) *nextHop {
	h := r.fixed[k]
	if h == nil {
		h = r.newNextHop(&nextHop{kind: k, static: map[*path]struct{}{}})
		h.resolved = []fib.NextHop{{Action: k.action, Port: k.port}}
		r.fixed[k] = h
	}
	return h
}

// staticNextHop finds or makes the next hop of static routes for gateway.
func (r *RIB) staticNextHop(gateway netip.Addr) *nextHop {
	if gateway.Is4() {
		same, _ := r.gateways.Get(netip.PrefixFrom(gateway, 32))
		for _, h := range same {
			if h.peer == nil {
				return h
			}
		}
	}
	return r.newNextHop(&nextHop{gateway: gateway, static: map[*path]struct{}{}})
}

// forget lets go of p, which no entry uses any more, and of its next hops that no
// other path uses.
func (r *RIB) forget(p *path) {
	for _, h := range p.hops {
		if p.bgp() {
			delete(h.paths, p.content)
		} else {
			delete(h.static, p)
		}
		if len(h.paths)+len(h.static) > 0 {
			continue
		}
		if !h.gateway.IsValid() {
			delete(r.fixed, h.kind)
			continue
		}
		if h.peer != nil && h.peer.hops[h.gateway] == h {
			delete(h.peer.hops, h.gateway)
		}
		delete(r.nextHops, h)
		r.grade(h, false)
		delete(r.unresolved, h)
		if h.gateway.Is4() {
			at := netip.PrefixFrom(h.gateway, 32)
			same, _ := r.gateways.Get(at)
			if len(same) == 1 {
				r.gateways.Delete(at)
			} else {
				i := slices.Index(same, h)
				r.gateways.Insert(at, slices.Delete(slices.Clone(same), i, i+1))
			}
		}
	}
}

// resolveMarked resolves the marked next hops again. It repairs the groups of those
// that changed, and marks the prefixes that may now choose differently.
//
// A next hop that is asked for while it is being resolved is a loop, cut there. So
// that the place of the cut does not depend on history, next hops are resolved in
// the order of their addresses, everywhere, and all recursive ones together once
// one more or one less of them is there to begin at.
func (r *RIB) resolveMarked() {
	type answered struct {
		resolved []fib.NextHop
		asked    []uint64
	}
	if len(r.unresolved) == 0 {
		return
	}
	before := map[*nextHop]answered{}
	for len(r.unresolved) > 0 {
		marked := slices.SortedFunc(maps.Keys(r.unresolved), compareNextHops)
		clear(r.unresolved)
		for _, h := range marked {
			if _, again := before[h]; !again {
				before[h] = answered{h.resolved, h.asked}
			}
			h.marked = true
		}
		for _, h := range marked {
			if h.marked {
				r.resolve(h)
			}
		}
		r.markRecursive()
	}

	repair := map[*group]struct{}{}
	for h, was := range before {
		if !slices.Equal(was.resolved, h.resolved) {
			maps.Copy(repair, h.groups)
		}
	}
	r.repair(repair)
	for h, was := range before {
		if (len(was.resolved) > 0) != (len(h.resolved) > 0) {
			r.redecideUsers(h)
		}
		if !slices.Equal(was.asked, h.asked) {
			r.markKeys(was.asked)
			r.markKeys(h.asked)
		}
	}
}

func compareNextHops(a, b *nextHop) int {
	if c := a.gateway.Compare(b.gateway); c != 0 || a.peer == b.peer {
		return c
	}
	switch {
	case a.peer == nil:
		return -1
	case b.peer == nil:
		return 1
	}
	return cmp.Or(a.peer.addr.Compare(b.peer.addr), cmp.Compare(a.id, b.id))
}

// resolve looks up the gateway of h among the RIB's routes: the longest match that
// has an eligible candidate, and from there on through the next hops of its
// winners. Where too many resolutions wait for each other it leaves h marked.
func (r *RIB) resolve(h *nextHop) {
	if r.stack == maxStack {
		return
	}
	r.stack++
	h.busy = true
	a := answer{h: h}
	a.find(r)
	slices.SortFunc(a.resolved, compareResolved)
	a.resolved = slices.Compact(a.resolved)
	if len(a.resolved) > fib.MaxMembers {
		a.resolved = a.resolved[:fib.MaxMembers]
	}
	if len(a.resolved) > 0 {
		a.problem = ""
	}
	h.resolved, h.problem, h.asked, h.depth = a.resolved, a.problem, a.asked, a.depth
	r.grade(h, a.recursive)
	h.busy, h.marked = false, false
	r.stack--
}

// grade notes whether h is recursive: whether its answer depends on other next hops.
func (r *RIB) grade(h *nextHop, recursive bool) {
	if _, was := r.recursive[h]; was == recursive {
		return
	}
	r.recursiveStale = true
	if recursive {
		r.recursive[h] = struct{}{}
	} else {
		delete(r.recursive, h)
	}
}

func compareResolved(a, b fib.NextHop) int {
	return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Port, b.Port), a.Gateway.Compare(b.Gateway))
}

// answer is what one call of resolve gathers.
type answer struct {
	h         *nextHop
	resolved  []fib.NextHop
	problem   string
	asked     []uint64
	depth     int
	recursive bool
}

func (a *answer) find(r *RIB) {
	a.problem = "no route to it"
	if !a.h.gateway.Is4() {
		a.problem = "not an IPv4 address"
		return
	}
	for prefix, e := range r.table.Supernets(netip.PrefixFrom(a.h.gateway, 32)) {
		if prefix.Bits() == 0 && a.h.peer != nil {
			a.problem = "only the default route leads to it, which BGP next hops do not use"
			return
		}
		found := a.through(r, e)
		if len(a.asked) > maxAsked {
			a.asked = a.asked[:maxAsked+1]
			a.resolved, a.problem = nil, "too many routes to ask"
			return
		}
		if found {
			break
		}
	}
	if a.depth > maxDepth {
		a.resolved, a.problem = nil, "recursion too deep"
	}
}

// through tries e and reports whether the search ends here.
func (a *answer) through(r *RIB, e *entry) bool {
	for _, h := range r.markedHops(e) {
		if h.marked && !h.busy {
			r.resolve(h)
		}
	}
	why := make([]Reason, len(e.candidates))
	for i, c := range e.candidates {
		why[i] = r.eligible(e, c.path)
	}
	a.ask(e.key())
	for _, c := range e.candidates {
		for _, h := range c.path.hops {
			if !h.gateway.IsValid() {
				continue
			}
			a.recursive = true
			if h.busy || h.marked {
				continue // its last answer belongs to an earlier state of the RIB
			}
			for _, key := range h.asked {
				a.ask(key)
			}
		}
	}
	best := r.decide(e.candidates, why)
	if best < 0 {
		return false
	}
	for i, c := range e.candidates {
		if why[i] != Used || c.path.bgp() != e.candidates[best].path.bgp() {
			continue
		}
		for _, h := range c.path.hops {
			if h.gateway.IsValid() {
				if r.usable(e, h) == Used {
					a.resolved = append(a.resolved, h.resolved...)
					a.depth = max(a.depth, h.depth+1)
				}
			} else {
				a.end(e, h)
			}
		}
	}
	return true
}

// markedHops gives the marked next hops of e's candidates in the order of their
// addresses.
func (r *RIB) markedHops(e *entry) []*nextHop {
	var hops []*nextHop
	for _, c := range e.candidates {
		for _, h := range c.path.hops {
			if h.marked {
				hops = append(hops, h)
			}
		}
	}
	slices.SortFunc(hops, compareNextHops)
	return hops
}

// end takes the answer of a route without a gateway.
func (a *answer) end(e *entry, h *nextHop) {
	a.depth = max(a.depth, 1)
	switch {
	case h.kind.action == fib.ActionGlean:
		a.resolved = append(a.resolved, fib.NextHop{
			Action: fib.ActionForward, Port: h.kind.port, Gateway: a.h.gateway,
		})
	case h.kind.action == fib.ActionLocal:
		a.problem = "the router's own address"
	case h.kind.broadcast:
		a.problem = "a broadcast address"
	case e.bits == 32: // the discard route of RFC 5635
		a.resolved = append(a.resolved, fib.NextHop{Action: h.kind.action})
	default: // the anchor of an aggregate leads to no neighbour
		a.problem = "inside " + e.prefix().String() + " " + h.kind.action.String()
	}
}

func (a *answer) ask(key uint64) {
	if !slices.Contains(a.asked, key) {
		a.asked = append(a.asked, key)
	}
}
