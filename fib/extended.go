package fib

// ownerRetired marks an extended group that is unlinked and waits for readers.
const ownerRetired = 1<<32 - 1

// slotIndex finds the extended group of a slot; 0 is none. Few slots have one.
type slotIndex [slots / 256]*[256]uint16

func (x *slotIndex) get(slot uint32) uint16 {
	if block := x[slot>>8]; block != nil {
		return block[slot&0xff]
	}
	return 0
}

func (x *slotIndex) set(slot uint32, extended uint16) {
	block := &x[slot>>8]
	if *block == nil {
		*block = new([256]uint16)
	}
	(*block)[slot&0xff] = extended
}

// extend gives slot an extended group with what the slot holds now. Readers do
// not see it before publish.
func (w *Writer) extend(slot uint32) error {
	if len(w.extendedPool.free) == 0 {
		w.collect()
	}
	if len(w.extendedPool.free) == 0 {
		return w.extendedPool.full(ErrExtendedFull)
	}
	x := w.extendedPool.take()
	w.extendedExact[x] = [512]uint16{}
	w.owners[x] = slot + 1
	w.extended.set(slot, x)
	w.extendedCount[x] = 0
	length, g := w.parent(slot, 25)
	entries := w.extendedEntries(x)
	for i := range entries {
		w.extendedDepth[x][i] = uint8(length)
		storeEntry(&entries[i], g)
	}
	return nil
}

// publish makes the slot point to its extended group, which is complete.
func (w *Writer) publish(slot uint32, x uint16) {
	if at := &w.table.entries[slot]; loadEntry(at) != extendedBit|x {
		storeEntry(at, extendedBit|x)
	}
}

// collapse takes the extended group, which has no prefix left, from its slot.
func (w *Writer) collapse(slot uint32, x uint16) {
	_, g := w.parent(slot, 25)
	storeEntry(&w.table.entries[slot], g)
	w.extended.set(slot, 0)
	w.owners[x] = ownerRetired
	w.extendedPool.used--
	w.grace.retire(anExtended, x)
}

func (w *Writer) freeExtended(x uint16) {
	w.owners[x] = 0
	w.extendedPool.put(x)
}

func (w *Writer) extendedEntries(x uint16) *[256]uint16 {
	return (*[256]uint16)(w.table.extended[uint32(x)<<8:])
}

// coverLong is cover for a prefix longer than /24.
func (w *Writer) coverLong(k key, g uint16) {
	x := w.extended.get(k.slot())
	first, n := int(uint8(k.addr)), 1<<(32-k.length)
	w.raise(x, first, n, uint8(k.length), g)
	w.publish(k.slot(), x)
}

// uncoverLong is uncover for a prefix longer than /24.
func (w *Writer) uncoverLong(k key) {
	x := w.extended.get(k.slot())
	if w.extendedCount[x]--; w.extendedCount[x] == 0 {
		w.collapse(k.slot(), x)
		return
	}
	shorter, g := longParent(&w.extendedExact[x], uint8(k.addr), k.length)
	if g == 0 {
		shorter, g = w.parent(k.slot(), 25)
	}
	first, n := int(uint8(k.addr)), 1<<(32-k.length)
	w.lower(x, first, n, uint8(k.length), uint8(shorter), g)
}

// coverExtended is cover for a slot whose entry says that it is extended. When
// it is not, the entry is damaged.
func (w *Writer) coverExtended(slot uint32, length uint8, g uint16) {
	if x := w.extended.get(slot); x != 0 {
		w.raise(x, 0, 256, length, g)
		return
	}
	storeEntry(&w.table.entries[slot], g)
}

func (w *Writer) uncoverExtended(slot uint32, length, shorter uint8, g uint16) {
	if x := w.extended.get(slot); x != 0 {
		w.lower(x, 0, 256, length, shorter, g)
		return
	}
	storeEntry(&w.table.entries[slot], g)
}

// raise writes g where no prefix longer than length stands.
func (w *Writer) raise(x uint16, first, n int, length uint8, g uint16) {
	depths, entries := w.extendedDepth[x][first:first+n], w.extendedEntries(x)[first:first+n]
	for i, d := range depths {
		if d <= length {
			depths[i] = length
			storeEntry(&entries[i], g)
		}
	}
}

// lower writes g where the prefix of this length stood.
func (w *Writer) lower(x uint16, first, n int, length, shorter uint8, g uint16) {
	depths, entries := w.extendedDepth[x][first:first+n], w.extendedEntries(x)[first:first+n]
	for i, d := range depths {
		if d == length {
			depths[i] = shorter
			storeEntry(&entries[i], g)
		}
	}
}
