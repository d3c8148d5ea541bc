package fib

import (
	"fmt"
	"sync/atomic"
)

// recover makes a Writer's state from what stands in the segments: it counts
// what refers to what, mends the live entries, and retires what nothing refers
// to. Its errors mean damage that no killed writer leaves.
func (w *Writer) recover() error {
	for _, step := range []func() error{w.recoverExtended, w.recoverPrefixes, w.recoverGroups} {
		if err := step(); err != nil {
			return err
		}
	}
	w.recoverNextHops()
	if w.head.lengths != 0 {
		w.auditDefault()
		if err := w.auditSlots(0, slots); err != nil {
			return err
		}
	}
	w.collect()
	return nil
}

// recoverExtended finds the extended groups. One without a prefix was about to
// be linked or just unlinked.
func (w *Writer) recoverExtended() error {
	for x := uint16(poolMax); x > 0; x-- {
		owner := w.owners[x]
		if owner == 0 {
			w.extendedPool.put(x)
			continue
		}
		slot, n := owner-1, 0
		if owner != ownerRetired {
			if slot >= slots {
				return fmt.Errorf("extended group %d belongs to slot %d", x, slot)
			}
			for length := 25; length <= 32; length++ {
				for bits := range uint32(1) << (length - 24) {
					g := w.extendedExact[x][1<<(length-24)|bits]
					if g == 0 {
						continue
					}
					n++
					if err := w.recoverPrefix(key{slot<<8 | bits<<(32-length), length}, g); err != nil {
						return err
					}
				}
			}
		}
		if n == 0 {
			w.owners[x] = ownerRetired
			w.grace.retire(anExtended, x)
			continue
		}
		if other := w.extended.get(slot); other != 0 {
			return fmt.Errorf("extended groups %d and %d belong to one slot", x, other)
		}
		w.extended.set(slot, x)
		w.extendedCount[x] = uint16(n)
		w.extendedPool.used++
	}
	return nil
}

func (w *Writer) recoverPrefixes() error {
	for length := range 25 {
		if w.head.lengths&(1<<length) == 0 {
			continue
		}
		for bits, g := range w.exact[1<<length : 2<<length] {
			if g == 0 {
				continue
			}
			if err := w.recoverPrefix(key{uint32(bits) << (32 - length), length}, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) recoverPrefix(k key, g uint16) error {
	if g >= MaxGroups || w.table.groups[g][groupUsedWord] != 1 {
		return damaged(k, g)
	}
	w.prefixes++
	w.groups[g].prefixes++
	w.groups[g].live = true
	return nil
}

func damaged(k key, g uint16) error {
	return fmt.Errorf("prefix %v points to group %d, which is not in use", k.prefix(), g)
}

// recoverGroups keeps the groups that prefixes point to. The others hold their
// next hops until readers have let go of them.
func (w *Writer) recoverGroups() error {
	var members [MaxMembers]uint16
	for g := uint16(poolMax); g > 0; g-- {
		if w.table.groups[g][groupUsedWord] != 1 {
			w.groupPool.put(g)
			continue
		}
		for _, i := range members[:w.table.Members(g, &members)] {
			if i != 0 && w.table.nextHops[i][0]&nextHopStored == 0 {
				return fmt.Errorf("group %d has next hop %d, which is not defined", g, i)
			}
		}
		w.refer(members[:w.table.Members(g, &members)])
		if w.groups[g].live {
			w.groupPool.used++
		} else {
			w.grace.retire(aGroup, g)
		}
	}
	return nil
}

func (w *Writer) recoverNextHops() {
	for i := uint16(poolMax); i > 0; i-- {
		word := atomic.LoadUint64(&w.table.nextHops[i][0])
		switch {
		case w.nextHops[i].references > 0:
			w.nextHopOf[word] = i
			w.nextHops[i].defined = true
			w.nextHopPool.used++
		case word != 0:
			w.grace.retire(aNextHop, i)
		default:
			w.nextHopPool.put(i)
		}
	}
}
