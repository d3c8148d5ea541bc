package dataplane

import (
	"errors"
	"sync/atomic"
)

// errGleansFull says that no more resolved neighbours fit.
var errGleansFull = errors.New("neighbour table is full")

const (
	gleanSlots = 1 << 15
	maxGleans  = gleanSlots / 2 // resolved neighbours of connected subnets
)

// gleans finds the adjacency of a neighbour on a connected subnet: a hash with open
// addressing that the slow path writes while workers read.
//
// A key is address<<32 | port<<16 | sequence. The sequence grows at each use of a slot, so
// a worker that finds the same key before and after it has read the adjacency has read
// that of the key. Address 0 marks a slot that is free, or with gleanGone one that was
// used and does not end a search.
type gleans struct {
	used  int // slots with an entry
	gone  int // slots without one that do not end a search
	slots [gleanSlots]glean
}

type glean struct {
	key atomic.Uint64
	adjacency
}

const (
	gleanGone     = 0xffff << 16
	gleanSequence = 0xffff
)

func gleanKey(addr uint32, port int) uint64 { return uint64(addr)<<32 | uint64(port)<<16 }

func gleanHash(addr uint32, port int) uint32 {
	h := (addr ^ uint32(port)<<26) * 0x9e3779b1
	return h >> (32 - 15)
}

// find returns the slot of an address on a port and its whole key, or nil. Any goroutine
// may call it; it is the caller who compares the key again.
func (g *gleans) find(addr uint32, port int) (*glean, uint64) {
	want := gleanKey(addr, port)
	for i := gleanHash(addr, port); ; i = (i + 1) % gleanSlots {
		s := &g.slots[i]
		switch key := s.key.Load(); {
		case key&^gleanSequence == want:
			return s, key
		case key&^gleanSequence == 0:
			return nil, 0
		}
	}
}

// insert gives an address that has none a slot whose adjacency fill has written. It fails
// with errGleansFull.
func (g *gleans) insert(addr uint32, port int, fill func(*adjacency)) (*glean, error) {
	if g.used == maxGleans {
		return nil, errGleansFull
	}
	if g.gone > gleanSlots/4 {
		g.sweep()
	}
	i := gleanHash(addr, port)
	for g.slots[i].key.Load()>>32 != 0 {
		i = (i + 1) % gleanSlots
	}
	s := &g.slots[i]
	key := s.key.Load()
	if key&^gleanSequence == gleanGone {
		g.gone--
	}
	g.used++
	fill(&s.adjacency)
	s.adjacency.used.Store(0)
	s.key.Store(gleanKey(addr, port) | (key+1)&gleanSequence)
	return s, nil
}

// remove frees the slot of an address.
func (g *gleans) remove(addr uint32, port int) {
	if s, key := g.find(addr, port); s != nil {
		s.key.Store(gleanGone | key&gleanSequence)
		g.used--
		g.gone++
	}
}

// sweep frees the slots that only continue searches, and places all entries anew. Workers
// that search meanwhile may miss an entry: the slow path forwards those packets.
func (g *gleans) sweep() {
	type entry struct {
		key, destination, source, meta uint64
		used                           uint32
	}
	entries := make([]entry, 0, g.used)
	for i := range g.slots {
		s := &g.slots[i]
		key := s.key.Load()
		if key>>32 != 0 {
			entries = append(entries, entry{key, s.destination.Load(), s.source.Load(), s.meta.Load(), s.adjacency.used.Load()})
		}
		s.key.Store(key & gleanSequence)
	}
	g.used, g.gone = 0, 0
	for _, e := range entries {
		s, _ := g.insert(uint32(e.key>>32), int(e.key>>16&0xffff), func(a *adjacency) {
			a.source.Store(e.source)
			a.destination.Store(e.destination)
			a.meta.Store(e.meta)
		})
		s.adjacency.used.Store(e.used)
	}
}
