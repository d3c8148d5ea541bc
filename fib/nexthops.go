package fib

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// nextHopUse is how often a next hop is referred to: by groups and by callers of
// AcquireNextHop.
type nextHopUse struct {
	references uint32
	defined    bool // shown to Define
}

// AcquireNextHop returns the index of nh and takes a reference on it; equal next
// hops share one index. The index of "no route" is 0 and costs nothing.
func (w *Writer) AcquireNextHop(nh NextHop) (uint16, error) {
	word, err := nh.pack()
	if err != nil {
		return 0, fmt.Errorf("fib: %w", err)
	}
	if word == 0 {
		return 0, nil
	}
	if i, ok := w.nextHopOf[word]; ok {
		w.nextHops[i].references++
		return i, nil
	}
	if len(w.nextHopPool.free) == 0 {
		w.collect()
	}
	if len(w.nextHopPool.free) == 0 {
		return 0, w.nextHopPool.full(ErrNextHopsFull)
	}
	i := w.nextHopPool.take()
	atomic.StoreUint64(&w.table.nextHops[i][0], word)
	w.nextHops[i] = nextHopUse{references: 1}
	w.nextHopOf[word] = i
	w.undefined = append(w.undefined, i)
	return i, nil
}

// ReleaseNextHop gives back one reference from AcquireNextHop.
func (w *Writer) ReleaseNextHop(i uint16) {
	w.dropNextHop(i)
	w.collect()
}

func (w *Writer) dropNextHop(i uint16) {
	if i == 0 {
		return
	}
	use := &w.nextHops[i]
	if use.references == 0 {
		panic(fmt.Sprintf("fib: next hop %d released more often than acquired", i))
	}
	if use.references--; use.references > 0 {
		return
	}
	delete(w.nextHopOf, w.table.nextHops[i][0])
	if !use.defined {
		w.undefined = slices.DeleteFunc(w.undefined, func(u uint16) bool { return u == i })
	}
	w.nextHopPool.used--
	w.grace.retire(aNextHop, i)
}

func (w *Writer) freeNextHop(i uint16) {
	atomic.StoreUint64(&w.table.nextHops[i][0], 0)
	w.nextHopPool.put(i)
}

// define shows new next hops to the forwarding process before the first group
// points to one of them.
func (w *Writer) define(members []uint16) error {
	isNew := func(i uint16) bool { return i != 0 && !w.nextHops[i].defined }
	if !slices.ContainsFunc(members, isNew) {
		return nil
	}
	if w.options.Define != nil {
		if err := w.options.Define(w.undefined); err != nil {
			return fmt.Errorf("fib: define next hops: %w", err)
		}
	}
	for _, i := range w.undefined {
		w.nextHops[i].defined = true
	}
	w.undefined = w.undefined[:0]
	return nil
}
