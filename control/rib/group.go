package rib

import (
	"encoding/binary"
	"slices"

	"routerd/fib"
)

// group is what routes with the same winners and the same backup share: the next
// hops of the winners and, for when none of them is left, those of the candidates
// that would win then.
type group struct {
	key     string
	primary []*nextHop
	backup  []*nextHop
	users   int           // entries
	members []fib.NextHop // what it forwards to now; never empty

	generation uint32 // of the FIB that has it, 0: none
	index      uint16 // there
	err        error  // why the FIB's group has no members though members has some
}

// groupOf finds or makes the group of primary and backup. Both must be sorted.
func (r *RIB) groupOf(primary, backup []*nextHop) *group {
	key := r.keyBuffer[:0]
	for _, h := range primary {
		key = binary.LittleEndian.AppendUint32(key, h.id)
	}
	key = binary.LittleEndian.AppendUint32(key, 0)
	for _, h := range backup {
		key = binary.LittleEndian.AppendUint32(key, h.id)
	}
	r.keyBuffer = key
	if g := r.groups[string(key)]; g != nil {
		return g
	}
	g := &group{key: string(key), primary: slices.Clone(primary), backup: slices.Clone(backup)}
	r.groups[g.key] = g
	for _, h := range g.primary {
		h.groups[g] = struct{}{}
	}
	for _, h := range g.backup {
		h.groups[g] = struct{}{}
	}
	g.members = g.compile()
	return g
}

func (r *RIB) useGroup(e *entry, g *group) {
	old := e.group
	e.group = g
	if g != nil {
		g.users++
	}
	if old == nil {
		return
	}
	if old.users--; old.users > 0 {
		return
	}
	r.unused = append(r.unused, old)
}

// dropUnused lets go of groups that lost their last entry.
func (r *RIB) dropUnused() {
	for _, g := range r.unused {
		if g.users > 0 || r.groups[g.key] != g {
			continue
		}
		for _, h := range g.primary {
			delete(h.groups, g)
		}
		for _, h := range g.backup {
			delete(h.groups, g)
		}
		delete(r.groups, g.key)
		r.freeGroup(g)
	}
	r.unused = r.unused[:0]
}

// compile gives the next hops that g forwards to: those of the live winners, else
// those of the backup, else unreachable.
func (g *group) compile() []fib.NextHop {
	for _, hops := range [][]*nextHop{g.primary, g.backup} {
		var members []fib.NextHop
		for _, h := range hops {
			if h.live() {
				members = append(members, h.resolved...)
			}
		}
		if len(members) > 0 {
			slices.SortFunc(members, compareResolved)
			members = slices.Compact(members)
			return members[:min(len(members), fib.MaxMembers)]
		}
	}
	return []fib.NextHop{{Action: fib.ActionUnreachable}}
}

// repair brings groups in place to what their next hops are now.
func (r *RIB) repair(groups map[*group]struct{}) {
	for g := range groups {
		if members := g.compile(); !slices.Equal(members, g.members) {
			g.members = members
			r.programGroup(g)
		}
	}
}
