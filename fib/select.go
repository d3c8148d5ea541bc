package fib

import "sync/atomic"

// Only returns the next hop of group g when the group leaves no choice: its one
// member, or 0 (no route) when it is empty. It is inlined, and spares the packets
// of most groups the flow hash:
//
//	nh, only := t.Only(g)
//	if !only {
//		nh = t.Select(g, flowHash(packet))
//	}
func (t *Table) Only(g uint16) (nextHop uint16, only bool) {
	word := atomic.LoadUint64(&t.groups[g&indexMask][0])
	return uint16(word>>16) & indexMask, word&0xfffe == 0
}

// Select returns the next hop of group g for the flow with hash flow; 0 (no
// route) when the group is empty. Flows spread evenly over the members, and when
// members come or go only flows to or from those members move (rendezvous
// hashing), so that a lost peer does not reorder everybody's packets.
func (t *Table) Select(g uint16, flow uint32) uint16 {
	group := &t.groups[g&indexMask]
	word := atomic.LoadUint64(&group[0])
	if word&0xfffe == 0 {
		return uint16(word>>16) & indexMask
	}
	var best uint16
	var highest uint64
	for i := range memberCount(word) {
		if (i+1)%4 == 0 {
			word = atomic.LoadUint64(&group[(i+1)/4])
		}
		member := uint16(word>>(16*uint(i+1)%64)) & indexMask
		if w := weight(flow, member); w > highest {
			best, highest = member, w
		}
	}
	return best
}

// weight hashes a flow and a member (the finalizer of SplitMix64). It is a
// bijection of the pair, so two members never tie.
func weight(flow uint32, member uint16) uint64 {
	x := (uint64(flow)<<32 | uint64(member)) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
