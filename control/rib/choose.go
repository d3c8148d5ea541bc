package rib

import "slices"

// choose decides e afresh, and brings the FIB to it.
func (r *RIB) choose(e *entry) {
	before := e.group
	g, best := r.chooseGroup(e)
	if best > 0 {
		e.candidates[0], e.candidates[best] = e.candidates[best], e.candidates[0]
	}
	if best > 0 || !samePrimary(before, g) {
		e.since = r.second
	}
	if e.winner != noSource {
		r.counts[e.winner]--
	}
	e.winner = noSource
	if best >= 0 {
		e.winner = e.candidates[0].path.source
		r.counts[e.winner]++
	}
	if g != before {
		r.useGroup(e, g)
	}
	r.programEntry(e, before)
	if len(e.candidates) == 0 {
		r.table.Delete(e.prefix())
	}
}

func samePrimary(a, b *group) bool {
	return a == b || a != nil && b != nil && slices.Equal(a.primary, b.primary)
}

// chooseGroup decides among the candidates of e, and gives the group of the
// outcome and the index of the best one; nil and -1 where none is eligible.
func (r *RIB) chooseGroup(e *entry) (*group, int) {
	why := r.why[:0]
	for _, c := range e.candidates {
		why = append(why, r.eligible(e, c.path))
	}
	r.why = why
	whyBackup := append(r.whyBackup[:0], why...)
	r.whyBackup = whyBackup
	best := r.decide(e.candidates, why)
	if best < 0 {
		return nil, -1
	}
	r.primary = r.hopsOf(r.primary[:0], e, why)
	r.backup = r.backup[:0]
	if len(why) > 1 {
		for i := range why {
			if why[i] == Used {
				whyBackup[i] = Distance // anything but Used: it is no backup of itself
			}
		}
		if r.decide(e.candidates, whyBackup) >= 0 {
			r.backup = r.hopsOf(r.backup, e, whyBackup)
		}
	}
	return r.groupOf(r.primary, r.backup), best
}

// hopsOf appends the next hops of the candidates whose why is Used, each once, in
// the order of their ids.
func (r *RIB) hopsOf(to []*nextHop, e *entry, why []Reason) []*nextHop {
	for i, c := range e.candidates {
		if why[i] != Used {
			continue
		}
		for _, h := range c.path.hops {
			if w := r.usable(e, h); w == Used || w == Unresolved {
				to = append(to, h)
			}
		}
	}
	if len(to) > 1 {
		slices.SortFunc(to, func(a, b *nextHop) int { return int(a.id) - int(b.id) })
		to = slices.Compact(to)
	}
	return to
}
