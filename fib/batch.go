package fib

// LookupBatch looks up all of dst (IPv4 addresses, first octet most
// significant) and stores the group of dst[i] in out[i]. It panics when out is
// shorter than dst. Batches of 64 to 128 are best: the loads of one batch
// overlap.
func (t *Table) LookupBatch(dst []uint32, out []uint16) {
	t.lookupBatch(dst, out[:len(dst)])
}

// lookupInGo is LookupBatch for machines without an assembly version, and what
// those are compared with. The slices are equally long.
func (t *Table) lookupInGo(dst []uint32, out []uint16) {
	if loadEntries(t.entries, dst, out)&extendedBit != 0 {
		t.resolveExtended(dst, out)
	}
}

// loadEntries stores the /24 entries of dst in out and returns all of them or-ed
// together.
func loadEntries(entries *entryArray, dst []uint32, out []uint16) (seen uint16) {
	for len(dst) >= 8 && len(out) >= 8 {
		d, o := (*[8]uint32)(dst), (*[8]uint16)(out)
		e0 := loadEntry(&entries[d[0]>>8])
		e1 := loadEntry(&entries[d[1]>>8])
		e2 := loadEntry(&entries[d[2]>>8])
		e3 := loadEntry(&entries[d[3]>>8])
		e4 := loadEntry(&entries[d[4]>>8])
		e5 := loadEntry(&entries[d[5]>>8])
		e6 := loadEntry(&entries[d[6]>>8])
		e7 := loadEntry(&entries[d[7]>>8])
		o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7] = e0, e1, e2, e3, e4, e5, e6, e7
		seen |= e0 | e1 | e2 | e3 | e4 | e5 | e6 | e7
		dst, out = dst[8:], out[8:]
	}
	for i := range min(len(dst), len(out)) {
		e := loadEntry(&entries[dst[i]>>8])
		out[i] = e
		seen |= e
	}
	return seen
}

// resolveExtended replaces the extended entries in out by those of their
// extended groups. Few /24s have one, so this pass is seldom needed.
func (t *Table) resolveExtended(dst []uint32, out []uint16) {
	for i, e := range out {
		if e&extendedBit != 0 {
			out[i] = t.lookupExtended(e, dst[i])
		}
	}
}
