package rib

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// entry is one prefix. There are a million of them: every field is weighed.
type entry struct {
	addr       uint32
	since      uint32 // seconds after RIB.epoch when the winner last changed
	generation uint32 // of the FIB that holds the prefix, 0: none does
	bits       uint8
	winner     Source // of the best candidate, noSource: none is eligible
	marked     bool
	group      *group      // what the winners forward to; nil: no candidate is eligible
	candidates []candidate // the best one first, the others in no order
}

// candidate is a path for one prefix.
type candidate struct {
	path *path
	pos  uint32 // of the entry in path.users
}

// path is a route without its prefix: many prefixes share the path of a BGP peer
// with the same attributes, a connected or static route has its own.
type path struct {
	source   Source
	distance uint8
	rank     uint64 // order among connected, or among static routes; lower is better
	hops     []*nextHop
	users    []*entry

	static *StaticRoute // static only
	detail string       // connected only: "own address", "broadcast" or empty

	peer    *peer // BGP only, as content
	content content
}

// content is what tells the paths of one session through one next hop apart.
type content struct {
	Preference
	attrs any
}

// peer is one session with a BGP neighbour.
type peer struct {
	addr     netip.Addr
	as       uint32
	id       netip.Addr
	internal bool
	down     bool
	hops     map[netip.Addr]*nextHop // by gateway
}

func (p *path) bgp() bool { return p.peer != nil }

func (e *entry) prefix() netip.Prefix {
	return netip.PrefixFrom(addrOf(e.addr), int(e.bits))
}

// key identifies the prefix of e in one word.
func (e *entry) key() uint64 { return uint64(e.addr)<<8 | uint64(e.bits) }

func prefixOf(key uint64) netip.Prefix {
	return netip.PrefixFrom(addrOf(uint32(key>>8)), int(uint8(key)))
}

func wordOf(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func addrOf(w uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], w)
	return netip.AddrFrom4(b)
}

// entryFor finds or makes the entry of p.
func (r *RIB) entryFor(p netip.Prefix) *entry {
	if e, ok := r.table.Get(p); ok {
		return e
	}
	e := &entry{addr: wordOf(p.Addr()), bits: uint8(p.Bits()), winner: noSource, since: r.second}
	r.table.Insert(p, e)
	return e
}

// find gives the index of the candidate of e for which match holds, or -1.
func (e *entry) find(match func(*path) bool) int {
	return slices.IndexFunc(e.candidates, func(c candidate) bool { return match(c.path) })
}

// add makes p a candidate of e.
func (r *RIB) add(e *entry, p *path) {
	e.candidates = append(e.candidates, candidate{p, uint32(len(p.users))})
	p.users = append(p.users, e)
	r.mark(e)
	r.markCovered(e.prefix())
}

// replace puts p in the place of candidate i of e.
func (r *RIB) replace(e *entry, i int, p *path) {
	r.leave(e, i) // after this the old path may be gone, with its next hops
	e.candidates[i] = candidate{p, uint32(len(p.users))}
	p.users = append(p.users, e)
	r.mark(e)
	r.markCovered(e.prefix())
}

// remove takes candidate i from e. The best one stays first where it stays.
func (r *RIB) remove(e *entry, i int) {
	r.leave(e, i)
	last := len(e.candidates) - 1
	e.candidates[i] = e.candidates[last]
	e.candidates[last] = candidate{}
	e.candidates = e.candidates[:last]
	r.mark(e)
	r.markCovered(e.prefix())
}

// leave takes e out of the users of its candidate i, and lets go of the path after
// the last one.
func (r *RIB) leave(e *entry, i int) {
	p, pos := e.candidates[i].path, e.candidates[i].pos
	if i == 0 {
		e.since = r.second
	}
	last := len(p.users) - 1
	if moved := p.users[last]; moved != e {
		p.users[pos] = moved
		moved.candidates[moved.find(func(q *path) bool { return q == p })].pos = pos
	}
	p.users[last] = nil
	p.users = p.users[:last]
	if last == 0 {
		r.forget(p)
	}
}
