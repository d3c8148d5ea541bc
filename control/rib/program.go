package rib

import (
	"iter"
	"log/slog"
	"net/netip"

	"github.com/gaissmai/bart"

	"routerd/fib"
)

// Programmer is the FIB's writer as the RIB uses it; *fib.Writer is one. Its
// methods are called from one goroutine at a time, under the RIB's lock. A group
// holds references on its next hops from NewGroup and SetGroup on; AcquireNextHop
// gives the caller one more. All is called by Attach only, before anything else.
type Programmer interface {
	AcquireNextHop(fib.NextHop) (uint16, error)
	ReleaseNextHop(uint16)
	NewGroup(nextHops []uint16) (uint16, error)
	SetGroup(group uint16, nextHops []uint16) error
	FreeGroup(uint16)
	Set(netip.Prefix, uint16) error
	Delete(netip.Prefix) (bool, error)
	Get(netip.Prefix) (uint16, bool)
	All() iter.Seq2[netip.Prefix, uint16]
}

// program is the RIB's side of the FIB.
type program struct {
	fib        Programmer // nil: none is attached
	generation uint32     // counts attached FIBs; an entry or group of an earlier one is not in this one
	installed  int        // entries in the FIB
	unswept    *bart.Lite // prefixes found in the FIB at Attach and not programmed since
	failed     map[*entry]error
	broken     map[*group]struct{} // groups that the FIB could not bring to their members
	audited    netip.Prefix        // the last one; invalid: none
	nextHopBuf []uint16
}

func (p *program) init() {
	p.failed = map[*entry]error{}
	p.broken = map[*group]struct{}{}
	p.unswept = new(bart.Lite)
}

// Attach makes p the FIB and programs every route into it. What p holds already
// and the RIB has no route for yet keeps forwarding until Sweep; Attach returns
// the number of prefixes found. Until Detach p may be used in WithFIB only.
func (r *RIB) Attach(p Programmer) (found int) {
	unswept := new(bart.Lite)
	for prefix := range p.All() {
		unswept.Insert(prefix)
	}
	found = unswept.Size()
	r.Detach()
	r.change(func() {
		r.fib, r.unswept = p, unswept
		r.generation++
		r.walkAll()
	})
	return found
}

// Detach lets go of the FIB, which stays as it is. The RIB goes on without one.
func (r *RIB) Detach() {
	r.lock()
	defer r.mu.Unlock()
	r.fib = nil
	r.installed = 0
	r.unswept = new(bart.Lite)
	r.audited = netip.Prefix{}
	clear(r.failed)
	clear(r.broken)
	for _, g := range r.groups {
		g.err = nil
	}
}

// WithFIB calls f while the RIB leaves the attached FIB alone, for what else its
// writer has to tell or to do, and reports whether there was one. f must be short,
// must not change prefixes or groups, and must not call the RIB.
func (r *RIB) WithFIB(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fib == nil {
		return false
	}
	f()
	return true
}

// Sweep deletes from the FIB what was there at Attach and has not become a route
// since, and returns the number of prefixes deleted.
func (r *RIB) Sweep() (deleted int) {
	for more := true; more; {
		r.lock()
		n := r.sweepChunk()
		r.retry = true
		r.mu.Unlock()
		deleted += n
		more = n > 0
	}
	r.settle()
	return deleted
}

func (r *RIB) sweepChunk() int {
	if r.fib == nil {
		return 0
	}
	prefixes := make([]netip.Prefix, 0, min(chunk, r.unswept.Size()))
	for p := range r.unswept.All() {
		if prefixes = append(prefixes, p); len(prefixes) == chunk {
			break
		}
	}
	for _, p := range prefixes {
		r.unswept.Delete(p)
		r.deleteFromFIB(p)
	}
	return len(prefixes)
}

func (r *RIB) deleteFromFIB(p netip.Prefix) {
	if _, err := r.fib.Delete(p); err != nil {
		r.log.Error("FIB did not delete a route", "prefix", p, "error", err)
	}
}

// inFIB reports whether the attached FIB forwards e by e.group.
func (r *RIB) inFIB(e *entry) bool { return r.fib != nil && e.generation == r.generation }

// programEntry brings the FIB's entry to e.group; before is what e.group was.
func (r *RIB) programEntry(e *entry, before *group) {
	if r.fib == nil {
		return
	}
	if e.group == nil {
		r.withdraw(e)
		r.forgetFailure(e)
		return
	}
	if r.inFIB(e) && e.group == before {
		return
	}
	index, err := r.programmedGroup(e)
	if err == nil {
		err = r.fib.Set(e.prefix(), index)
	}
	if err != nil {
		r.withdraw(e)
		r.fail(e, err)
		return
	}
	r.forgetFailure(e)
	if !r.inFIB(e) {
		e.generation = r.generation
		r.installed++
		if r.unswept.Size() > 0 {
			r.unswept.Delete(e.prefix())
		}
	}
}

// withdraw takes e out of the FIB where it is there.
func (r *RIB) withdraw(e *entry) {
	if r.inFIB(e) {
		e.generation = 0
		r.installed--
		r.deleteFromFIB(e.prefix())
	}
}

func (r *RIB) fail(e *entry, err error) {
	if len(r.failed) == 0 {
		r.log.Warn("the FIB does not take a route; the routes concerned are listed as failed",
			"prefix", e.prefix(), "error", err)
	}
	r.failed[e] = err
}

func (r *RIB) forgetFailure(e *entry) {
	if len(r.failed) == 0 {
		return
	}
	delete(r.failed, e)
	if len(r.failed) == 0 {
		r.log.Info("no route fails to enter the FIB any more")
	}
}

// retryFailed marks what the FIB refused, up to budget entries, and gives back what
// is left of budget.
func (r *RIB) retryFailed(budget int) int {
	for g := range r.broken {
		r.programGroup(g)
	}
	for e := range r.failed {
		if budget == 0 {
			break
		}
		r.mark(e)
		budget--
	}
	return budget
}

// programmedGroup gives the FIB's index of e's group, which it makes at first use.
// Where the FIB has no room for one more group, e goes without its backup.
func (r *RIB) programmedGroup(e *entry) (uint16, error) {
	index, err := r.makeGroup(e.group)
	if err == nil || len(e.group.backup) == 0 {
		return index, err
	}
	r.useGroup(e, r.groupOf(e.group.primary, nil))
	return r.makeGroup(e.group)
}

func (r *RIB) makeGroup(g *group) (uint16, error) {
	if g.generation == r.generation {
		return g.index, nil
	}
	members, err := r.acquire(g.members)
	if err != nil {
		return 0, err
	}
	defer r.release(members)
	if g.index, err = r.fib.NewGroup(members); err != nil {
		return 0, err
	}
	g.generation = r.generation
	return g.index, nil
}

// programGroup brings the FIB's group to g.members in place. Where the FIB has no
// room for a next hop, its group is left without members, and is tried again.
func (r *RIB) programGroup(g *group) {
	if r.fib == nil || g.generation != r.generation {
		return
	}
	members, err := r.acquire(g.members)
	if err == nil {
		err = r.fib.SetGroup(g.index, members)
		r.release(members)
	}
	g.err = err
	if err == nil {
		delete(r.broken, g)
		return
	}
	r.broken[g] = struct{}{}
	r.log.Warn("the FIB does not take the next hops of a group; its routes drop",
		slog.Int("routes", g.users), "error", err)
	if err := r.fib.SetGroup(g.index, nil); err != nil {
		r.log.Error("FIB did not empty a group", "group", g.index, "error", err)
	}
}

func (r *RIB) freeGroup(g *group) {
	delete(r.broken, g)
	if r.fib != nil && g.generation == r.generation {
		r.fib.FreeGroup(g.index)
	}
}

func (r *RIB) acquire(nextHops []fib.NextHop) ([]uint16, error) {
	r.nextHopBuf = r.nextHopBuf[:0]
	for _, nh := range nextHops {
		index, err := r.fib.AcquireNextHop(nh)
		if err != nil {
			r.release(r.nextHopBuf)
			return nil, err
		}
		r.nextHopBuf = append(r.nextHopBuf, index)
	}
	return r.nextHopBuf, nil
}

func (r *RIB) release(nextHops []uint16) {
	for _, index := range nextHops {
		r.fib.ReleaseNextHop(index)
	}
}
