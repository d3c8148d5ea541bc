package rib

import "fmt"

// Reason says why a candidate is not used; the zero Reason means that it is.
type Reason uint8

const (
	Used Reason = iota
	SessionDown
	Unresolved
	ThroughItself
	LocalPreference
	PathLength
	Origin
	MED
	ExternalFirst
	RouterID
	PeerAddress
	Distance
	SourceOrder
	LocalOrder
)

func (w Reason) String() string {
	switch w {
	case Used:
		return ""
	case SessionDown:
		return "session down"
	case Unresolved:
		return "next hop unresolved"
	case ThroughItself:
		return "next hop resolves through itself"
	case LocalPreference:
		return "local preference"
	case PathLength:
		return "AS path length"
	case Origin:
		return "origin"
	case MED:
		return "MED"
	case ExternalFirst:
		return "eBGP over iBGP"
	case RouterID:
		return "router id"
	case PeerAddress:
		return "peer address"
	case Distance:
		return "distance"
	case SourceOrder:
		return "source, at equal distance"
	case LocalOrder:
		return "port or next hop order"
	}
	return fmt.Sprintf("reason %d", uint8(w))
}

// eliminations are the steps of RFC 4271 section 9.1.2.2 that keep the paths of
// the lowest cost. MED, which compares only paths of one neighbouring AS, stands
// between them and the rest.
var eliminations = [...]struct {
	reason Reason
	cost   func(*path) uint32
}{
	{LocalPreference, func(p *path) uint32 { return ^p.content.LocalPref }},
	{PathLength, func(p *path) uint32 { return uint32(p.content.PathLen) }},
	{Origin, func(p *path) uint32 { return uint32(p.content.Origin) }},
}

// decide chooses among the candidates whose why is Used, writes to why the first
// rule by which each of the others loses, and returns the index of the best, or
// -1. BGP paths compete among themselves first; what is left of them competes by
// distance. It only reads the RIB.
func (r *RIB) decide(candidates []candidate, why []Reason) int {
	in, bgp := 0, 0
	for i, c := range candidates {
		if why[i] == Used {
			in++
			if c.path.bgp() {
				bgp++
			}
		}
	}
	if bgp > 1 {
		r.decideBGP(candidates, why)
	}
	best := -1
	for i := range candidates {
		if why[i] == Used && (best < 0 || prefer(candidates[i].path, candidates[best].path) < 0) {
			best = i
		}
	}
	if in <= 1 {
		return best
	}
	for i, c := range candidates {
		b := candidates[best].path
		switch {
		case i == best || why[i] != Used || c.path.bgp() && b.bgp():
		case c.path.distance != b.distance:
			why[i] = Distance
		case c.path.source != b.source:
			why[i] = SourceOrder
		default:
			why[i] = LocalOrder
		}
	}
	return best
}

func (r *RIB) decideBGP(candidates []candidate, why []Reason) {
	for _, step := range eliminations {
		keepLowest(candidates, why, step.reason, step.cost)
	}
	keepLowestMED(candidates, why)
	keepLowest(candidates, why, ExternalFirst, func(p *path) uint32 { return uint32(p.source) })

	for { // take away the worst by router id and address until multipath are left
		n, best, worst := 0, -1, -1
		for i, c := range candidates {
			if why[i] != Used || !c.path.bgp() {
				continue
			}
			n++
			if best < 0 || prefer(c.path, candidates[best].path) < 0 {
				best = i
			}
			if worst < 0 || prefer(c.path, candidates[worst].path) > 0 {
				worst = i
			}
		}
		if n <= r.multipath {
			return
		}
		why[worst] = PeerAddress
		if candidates[worst].path.peer.id != candidates[best].path.peer.id {
			why[worst] = RouterID
		}
	}
}

func keepLowest(candidates []candidate, why []Reason, reason Reason, cost func(*path) uint32) {
	lowest := ^uint32(0)
	for i, c := range candidates {
		if why[i] == Used && c.path.bgp() {
			lowest = min(lowest, cost(c.path))
		}
	}
	for i, c := range candidates {
		if why[i] == Used && c.path.bgp() && cost(c.path) > lowest {
			why[i] = reason
		}
	}
}

// keepLowestMED drops every path for which another one from the same neighbouring
// AS has a lower MED. A dropped path still drops others: the result does not
// depend on the order of the candidates.
func keepLowestMED(candidates []candidate, why []Reason) {
	for i, c := range candidates {
		if why[i] != Used || !c.path.bgp() {
			continue
		}
		for j, d := range candidates {
			if (why[j] == Used || why[j] == MED) && d.path.bgp() &&
				d.path.content.NeighborAS == c.path.content.NeighborAS && d.path.content.MED < c.path.content.MED {
				why[i] = MED
				break
			}
		}
	}
}

// prefer orders candidates that no earlier rule tells apart: negative where a is
// better.
func prefer(a, b *path) int {
	switch {
	case a.bgp() && b.bgp():
		if c := a.peer.id.Compare(b.peer.id); c != 0 {
			return c
		}
		return a.peer.addr.Compare(b.peer.addr)
	case a.distance != b.distance:
		return int(a.distance) - int(b.distance)
	case a.source != b.source:
		return int(a.source) - int(b.source)
	case a.rank < b.rank:
		return -1
	}
	return 1
}

// eligible tells why p cannot carry traffic for e, or Used.
func (r *RIB) eligible(e *entry, p *path) Reason {
	why := Unresolved
	for _, h := range p.hops {
		switch w := r.usable(e, h); w {
		case Used:
			return Used
		case Unresolved:
		default:
			why = w
		}
	}
	return why
}

// usable tells why h cannot carry traffic for e, or Used.
func (r *RIB) usable(e *entry, h *nextHop) Reason {
	if h.peer != nil && h.peer.down {
		return SessionDown
	}
	if h.busy {
		return ThroughItself
	}
	if h.marked { // too many resolutions wait for each other
		return Unresolved
	}
	for _, key := range h.asked {
		if key == e.key() {
			return ThroughItself
		}
	}
	if len(h.resolved) == 0 {
		return Unresolved
	}
	return Used
}
