package fib

// Audit compares the next n slots (/24s) of the live table with what the exact
// prefixes say and mends what differs. It goes on where the last call stopped
// and starts again after the last slot; a whole round is 1<<24 slots. An error
// means that the writer segment itself is damaged: restart the forwarding
// process. Audit also frees what waited for readers, should nothing else do so.
func (w *Writer) Audit(n int) (checked, repaired int, err error) {
	w.collect()
	before := w.repaired
	for checked < n && err == nil {
		if w.auditCursor == 0 {
			w.auditDefault()
		}
		to := uint32(min(slots, int64(w.auditCursor)+int64(n-checked)))
		err = w.auditSlots(w.auditCursor, to)
		checked += int(to - w.auditCursor)
		w.auditCursor = to % slots
	}
	return checked, w.repaired - before, err
}

// auditDefault checks that group 0 is a copy of the default route's group.
func (w *Writer) auditDefault() {
	var want, have [MaxMembers]uint16
	n := 0
	if g := w.exact[1]; g != 0 {
		n = w.table.Members(g, &want)
	}
	if w.table.Members(0, &have) != n || want != have {
		w.mirrorDefault()
		w.repaired++
	}
}

func (w *Writer) auditSlots(from, to uint32) error {
	var block [256]truth // one /16
	for slot := from; slot < to; slot++ {
		if slot == from || slot&0xff == 0 {
			w.paint(slot, &block)
		}
		if err := w.auditSlot(slot, block[slot&0xff]); err != nil {
			return err
		}
	}
	return nil
}

// truth is what the exact prefixes up to /24 say of one slot.
type truth struct {
	group  uint16
	length uint8
}

// paint finds the truth of the /16 around slot: from short prefixes to long
// ones, which paint over them.
func (w *Writer) paint(slot uint32, block *[256]truth) {
	slot &^= 0xff
	length, g := w.parent(slot, 17)
	for i := range block {
		block[i] = truth{g, uint8(length)}
	}
	for n := 17; n <= 24; n++ {
		if w.head.lengths&(1<<n) == 0 {
			continue
		}
		first, each := exactIndex(slot, n), 1<<(24-n)
		for i, g := range w.exact[first : first+1<<(n-16)] {
			if g == 0 {
				continue
			}
			for j := range each {
				block[i*each+j] = truth{g, uint8(n)}
			}
		}
	}
}

func (w *Writer) auditSlot(slot uint32, t truth) error {
	g, length := t.group, int(t.length)
	if g != 0 && !w.live(g) {
		return damaged(key{slot << 8, length}, g)
	}
	want := g
	if x := w.extended.get(slot); x != 0 {
		if err := w.auditExtended(slot, x, length, g); err != nil {
			return err
		}
		want = extendedBit | x
	}
	w.mend(&w.table.entries[slot], want, &w.depths[slot], length)
	return nil
}

func (w *Writer) auditExtended(slot uint32, x uint16, length int, g uint16) error {
	entries := w.extendedEntries(x)
	for last := range entries {
		n, want := longParent(&w.extendedExact[x], uint8(last), 33)
		if want == 0 {
			n, want = length, g
		} else if !w.live(want) {
			return damaged(key{slot<<8 | uint32(last), n}, want)
		}
		w.mend(&entries[last], want, &w.extendedDepth[x][last], n)
	}
	return nil
}

// mend stores only what differs.
func (w *Writer) mend(entry *uint16, want uint16, depth *uint8, length int) {
	if loadEntry(entry) == want && *depth == uint8(length) {
		return
	}
	*depth = uint8(length)
	storeEntry(entry, want)
	w.repaired++
}
