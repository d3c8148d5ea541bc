package fib

import "sync/atomic"

// Table reads a table segment. All methods may be called concurrently, and
// while a Writer changes the table: each answer was right at some moment during
// the call. Indexes obtained from one call are good for the next ones until the
// caller's next quiet point, not after it.
type Table struct {
	entries  *entryArray
	extended *extendedArray
	groups   *groupArray
	nextHops *nextHopArray
}

// OpenTable attaches to a formatted table segment, which may be mapped
// read-only. Memory that is too small, or that another program or another
// version of this one made, is refused with an error that wraps ErrForeign.
func OpenTable(table []byte) (*Table, error) {
	if _, err := tableSegment.check(table); err != nil {
		return nil, err
	}
	t := newTable(table)
	t.chooseMethod()
	return t, nil
}

func newTable(table []byte) *Table {
	return &Table{
		entries:  overlay[entryArray](table, tableEntriesAt),
		extended: overlay[extendedArray](table, tableExtendedAt),
		groups:   overlay[groupArray](table, tableGroupsAt),
		nextHops: overlay[nextHopArray](table, tableNextHopsAt),
	}
}

// Lookup returns the group for dst, an IPv4 address with its first octet most
// significant. Group 0 is the default.
func (t *Table) Lookup(dst uint32) uint16 {
	e := loadEntry(&t.entries[dst>>8])
	if e&extendedBit != 0 {
		e = t.lookupExtended(e, dst)
	}
	return e & indexMask
}

func (t *Table) lookupExtended(e uint16, dst uint32) uint16 {
	return loadEntry(&t.extended[uint32(e&indexMask)<<8|dst&0xff]) & indexMask
}

// NextHop returns the definition of next hop i as control wrote it.
func (t *Table) NextHop(i uint16) NextHop {
	return unpack(atomic.LoadUint64(&t.nextHops[i&indexMask][0]))
}

// Members copies the next-hop indexes of group g to out and returns how many
// there are, 0..MaxMembers. While the group is being changed each of them is one
// of the old or of the new members.
func (t *Table) Members(g uint16, out *[MaxMembers]uint16) int {
	group := &t.groups[g&indexMask]
	word := atomic.LoadUint64(&group[0])
	n := memberCount(word)
	for i := range n {
		if (i+1)%4 == 0 {
			word = atomic.LoadUint64(&group[(i+1)/4])
		}
		out[i] = uint16(word>>(16*uint(i+1)%64)) & indexMask
	}
	return n
}

// memberCount returns the number of members in the first word of a group.
func memberCount(word uint64) int {
	return int(min(word&0xffff, MaxMembers))
}
