package fib

import (
	"fmt"
	"net/netip"
)

// Set makes p point to group g, whether p is there already or not.
func (w *Writer) Set(p netip.Prefix, g uint16) error {
	k, err := keyOf(p)
	if err != nil {
		return err
	}
	if !w.live(g) {
		return fmt.Errorf("fib: set %v to group %d: %w", p, g, ErrInvalidGroup)
	}
	at := w.place(k)
	if at == nil {
		if err := w.extend(k.slot()); err != nil {
			return fmt.Errorf("%w (for %v)", err, p)
		}
		at = w.place(k)
	}
	before := *at
	if before == g {
		return nil
	}
	w.head.lengths |= 1 << k.length
	*at = g
	w.groups[g].prefixes++
	switch {
	case k.length == 0:
		w.mirrorDefault()
	case k.length <= 24:
		w.cover(k, g)
	default:
		w.coverLong(k, g)
	}
	if before != 0 {
		w.unpoint(before)
		w.collect()
		return nil
	}
	w.prefixes++
	if k.length > 24 {
		w.extendedCount[w.extended.get(k.slot())]++
	}
	return nil
}

// Delete removes p and reports whether it was there.
func (w *Writer) Delete(p netip.Prefix) (bool, error) {
	k, err := keyOf(p)
	if err != nil {
		return false, err
	}
	at := w.place(k)
	if at == nil || *at == 0 {
		return false, nil
	}
	g := *at
	*at = 0
	w.prefixes--
	switch {
	case k.length == 0:
		w.mirrorDefault()
	case k.length <= 24:
		w.uncover(k)
	default:
		w.uncoverLong(k)
	}
	w.unpoint(g)
	w.collect()
	return true, nil
}

// unpoint takes one prefix away from a group.
func (w *Writer) unpoint(g uint16) {
	w.groups[g].prefixes--
	w.retireIfUnused(g)
}

// mirrorDefault makes group 0 what the default route's group is.
func (w *Writer) mirrorDefault() {
	var members [MaxMembers]uint16
	n := 0
	if g := w.exact[1]; g != 0 {
		n = w.table.Members(g, &members)
	}
	w.table.storeGroup(0, members[:n])
}

// cover writes g to the slots of k where no longer prefix stands.
func (w *Writer) cover(k key, g uint16) {
	first, n := k.slot(), uint32(1)<<(24-k.length)
	length := uint8(k.length)
	depths, entries := w.depths[first:first+n], w.table.entries[first:first+n]
	for i, d := range depths {
		if d > length {
			continue
		}
		depths[i] = length
		if loadEntry(&entries[i])&extendedBit == 0 {
			storeEntry(&entries[i], g)
		} else {
			w.coverExtended(first+uint32(i), length, g)
		}
	}
}

// uncover gives the slots that k held to the next shorter prefix.
func (w *Writer) uncover(k key) {
	shorter, g := w.parent(k.slot(), k.length)
	first, n := k.slot(), uint32(1)<<(24-k.length)
	length := uint8(k.length)
	depths, entries := w.depths[first:first+n], w.table.entries[first:first+n]
	for i, d := range depths {
		if d != length {
			continue
		}
		depths[i] = uint8(shorter)
		if loadEntry(&entries[i])&extendedBit == 0 {
			storeEntry(&entries[i], g)
		} else {
			w.uncoverExtended(first+uint32(i), length, uint8(shorter), g)
		}
	}
}
