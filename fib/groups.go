package fib

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// groupUse is what keeps a group alive: the caller of NewGroup, until FreeGroup,
// and the prefixes that point to it.
type groupUse struct {
	prefixes uint32
	held     bool
	live     bool
}

// NewGroup makes a group of next hops and takes a reference on each of them. The
// order of members does not matter, repeated ones count once, and none at all
// means no route. The group lives until FreeGroup and the last prefix let go.
func (w *Writer) NewGroup(members []uint16) (uint16, error) {
	members, err := w.members(members)
	if err != nil {
		return 0, err
	}
	if len(w.groupPool.free) == 0 {
		w.collect()
	}
	if len(w.groupPool.free) == 0 {
		return 0, w.groupPool.full(ErrGroupsFull)
	}
	if err := w.define(members); err != nil {
		return 0, err
	}
	g := w.groupPool.take()
	w.groups[g] = groupUse{held: true, live: true}
	atomic.StoreUint64(&w.table.groups[g][groupUsedWord], 1)
	w.refer(members)
	w.table.storeGroup(g, members)
	return g, nil
}

// SetGroup replaces the members of a group in place: every prefix that points to
// it follows at once. It takes and gives up references as NewGroup and FreeGroup
// do.
func (w *Writer) SetGroup(g uint16, members []uint16) error {
	if !w.live(g) {
		return fmt.Errorf("fib: set group %d: %w", g, ErrInvalidGroup)
	}
	members, err := w.members(members)
	if err != nil {
		return err
	}
	if err := w.define(members); err != nil {
		return err
	}
	var before [MaxMembers]uint16
	n := w.table.Members(g, &before)
	w.refer(members)
	w.table.storeGroup(g, members)
	if w.exact[1] == g {
		w.table.storeGroup(0, members)
	}
	for _, i := range before[:n] {
		w.dropNextHop(i)
	}
	w.collect()
	return nil
}

// FreeGroup lets go of a group. It stays as long as prefixes point to it.
func (w *Writer) FreeGroup(g uint16) {
	if !w.live(g) || !w.groups[g].held {
		return
	}
	w.groups[g].held = false
	w.retireIfUnused(g)
	w.collect()
}

func (w *Writer) live(g uint16) bool { return g < MaxGroups && w.groups[g].live }

func (w *Writer) retireIfUnused(g uint16) {
	use := &w.groups[g]
	if use.held || use.prefixes > 0 {
		return
	}
	use.live = false
	w.groupPool.used--
	w.grace.retire(aGroup, g)
}

func (w *Writer) freeGroup(g uint16) {
	var members [MaxMembers]uint16
	n := w.table.Members(g, &members)
	w.table.storeGroup(g, nil)
	atomic.StoreUint64(&w.table.groups[g][groupUsedWord], 0)
	for _, i := range members[:n] {
		w.dropNextHop(i)
	}
	w.groupPool.put(g)
}

// members checks what a caller wants in a group and drops repetitions.
func (w *Writer) members(members []uint16) ([]uint16, error) {
	var unique []uint16
	for _, i := range members {
		if i != 0 && (i >= MaxNextHops || w.nextHops[i].references == 0) {
			return nil, fmt.Errorf("fib: next hop %d: %w: not acquired", i, ErrInvalidNextHop)
		}
		if !slices.Contains(unique, i) {
			unique = append(unique, i)
		}
	}
	if len(unique) > MaxMembers {
		return nil, fmt.Errorf("fib: %w: %d, at most %d", ErrTooManyMembers, len(unique), MaxMembers)
	}
	return unique, nil
}

func (w *Writer) refer(members []uint16) {
	for _, i := range members {
		if i != 0 {
			w.nextHops[i].references++
		}
	}
}

// storeGroup writes the members of a group under the eyes of readers. The first
// word holds the count and the first three members. It is stored last when the
// group grows and first when it shrinks, and the places behind the last member
// keep what they had, so that a reader with either count finds an old or a new
// member in each place.
func (t *Table) storeGroup(g uint16, members []uint16) {
	group := &t.groups[g]
	before := memberCount(group[0])
	words := [memberWords]uint64(group[:memberWords])
	words[0] = uint64(len(members))
	for i, m := range members {
		shift := 16 * uint(i+1) % 64
		word := &words[(i+1)/4]
		*word = *word&^(0xffff<<shift) | uint64(m)<<shift
	}
	if len(members) < before {
		atomic.StoreUint64(&group[0], words[0])
	}
	for i := 1; i < memberWords; i++ {
		atomic.StoreUint64(&group[i], words[i])
	}
	atomic.StoreUint64(&group[0], words[0])
}
