package rib

import "net/netip"

// pending is work that is marked and not yet done. Marks made under one hold of
// the lock are worked off by commit before it is released; what may be long is
// queued and worked off by settle in chunks.
type pending struct {
	entries        []*entry              // to be decided
	unresolved     map[*nextHop]struct{} // to be resolved
	unused         []*group              // may have no entry any more
	recursiveStale bool                  // every recursive next hop is to be resolved
	stack          int                   // resolutions under way
	retry          bool                  // what the FIB refused may have room now
	queue          []pathJob             // entries of whole paths, to be decided
	walk           struct {              // all entries, to be decided
		active bool
		after  netip.Prefix // the last one done; invalid: none
	}

	// Space that decisions reuse.
	why, whyBackup  []Reason
	primary, backup []*nextHop
	keyBuffer       []byte
}

// pathJob says that users[:left] of path are still to be decided.
type pathJob struct {
	path *path
	left int
}

func (w *pending) init() { w.unresolved = map[*nextHop]struct{}{} }

func (r *RIB) mark(e *entry) {
	if !e.marked {
		e.marked = true
		r.entries = append(r.entries, e)
	}
}

func (r *RIB) markKeys(keys []uint64) {
	for _, key := range keys {
		if e, ok := r.table.Get(prefixOf(key)); ok {
			r.mark(e)
		}
	}
}

func (r *RIB) markNextHop(h *nextHop) { r.unresolved[h] = struct{}{} }

// markCovered marks the next hops that a change of p's candidates may concern:
// those inside p, and then all that resolve through other next hops.
func (r *RIB) markCovered(p netip.Prefix) {
	for _, inside := range r.gateways.Subnets(p) {
		r.recursiveStale = true
		for _, h := range inside {
			r.markNextHop(h)
		}
	}
}

// markRecursive marks every recursive next hop where something changed that one of
// them may depend on.
func (r *RIB) markRecursive() {
	if !r.recursiveStale {
		return
	}
	r.recursiveStale = false
	for h := range r.recursive {
		r.markNextHop(h)
	}
}

func (r *RIB) markAllNextHops() {
	for h := range r.nextHops {
		r.markNextHop(h)
	}
}

// redecideUsers queues every entry that has a candidate through h.
func (r *RIB) redecideUsers(h *nextHop) {
	for p := range h.static {
		r.queue = append(r.queue, pathJob{p, len(p.users)})
	}
	for _, p := range h.paths {
		r.queue = append(r.queue, pathJob{p, len(p.users)})
	}
}

// walkAll queues every entry.
func (r *RIB) walkAll() {
	r.walk.active, r.walk.after = true, netip.Prefix{}
}

// commit works off the marks: first next hops and, in place, their groups, so that
// traffic leaves what is lost before any prefix is touched; then the prefixes.
func (r *RIB) commit() {
	r.markRecursive()
	r.resolveMarked()
	for _, e := range r.entries {
		e.marked = false
		r.choose(e)
	}
	r.entries = r.entries[:0]
	r.dropUnused()
}

// settle works off the queue, a chunk for each hold of the lock.
func (r *RIB) settle() {
	for more := true; more; {
		r.lock()
		more = r.step()
		r.commit()
		r.mu.Unlock()
	}
	r.tellLocalRoutes()
}

// step marks the next chunk of the queue and reports whether there was one.
func (r *RIB) step() bool {
	budget := chunk
	for len(r.queue) > 0 && budget > 0 {
		job := &r.queue[len(r.queue)-1]
		p := job.path
		i := min(job.left, len(p.users)) // others may have gone meanwhile; who came is decided already
		for ; i > 0 && budget > 0; budget-- {
			i--
			e := p.users[i]
			if p.bgp() && p.peer.down {
				r.remove(e, e.find(func(q *path) bool { return q == p }))
			} else {
				r.mark(e)
			}
		}
		job.left = i
		if i == 0 {
			r.queue = r.queue[:len(r.queue)-1]
		}
	}
	if r.walk.active && budget > 0 {
		r.walk.active = false
		for p, e := range r.after(everything, r.walk.after) {
			r.mark(e)
			if budget--; budget == 0 {
				r.walk.active, r.walk.after = true, p
				break
			}
		}
	}
	if budget == chunk && r.retry {
		r.retry = false
		budget = r.retryFailed(budget)
	}
	return budget < chunk
}
