package fib

import "sync/atomic"

// Epochs are the quiet points of all readers. A reader is inside a round while
// it uses indexes from the table, and outside in between.
//
// Passed reports whether every reader has been outside at some moment since the
// snapshot. Snapshot appends to dst[:0] and returns it. Entering a round must be
// a read-modify-write or sequentially consistent store that is visible to
// Snapshot before the reader's first load from the table.
type Epochs interface {
	Snapshot(dst []uint64) []uint64
	Passed(snapshot []uint64) bool
}

// grace keeps what nothing live points to any more until no reader can hold it.
// What is retired while one grace period runs waits for the next one.
type grace struct {
	epochs   Epochs
	fence    atomic.Uint64
	retired  []retiree // unlinked, no snapshot yet
	waiting  []retiree // unlinked before the snapshot
	snapshot []uint64
}

type retiree struct {
	kind  kind
	index uint16
}

type kind uint8

const (
	aGroup kind = iota
	aNextHop
	anExtended
)

func (g *grace) retire(k kind, index uint16) {
	g.retired = append(g.retired, retiree{k, index})
}

// collect frees what no reader can hold. It is called at the end of every
// operation, when all that was retired is unlinked.
func (w *Writer) collect() {
	g := &w.grace
	for len(g.waiting)+len(g.retired) > 0 {
		if len(g.waiting) == 0 {
			g.waiting, g.retired = g.retired, g.waiting
			if g.epochs != nil {
				g.fence.Add(1) // the unlinking stores come before the loads of the snapshot
				g.snapshot = g.epochs.Snapshot(g.snapshot[:0])
			}
		}
		if g.epochs != nil && !g.epochs.Passed(g.snapshot) {
			return
		}
		for _, r := range g.waiting {
			switch r.kind {
			case aGroup:
				w.freeGroup(r.index) // may retire next hops
			case aNextHop:
				w.freeNextHop(r.index)
			case anExtended:
				w.freeExtended(r.index)
			}
		}
		g.waiting = g.waiting[:0]
	}
}
