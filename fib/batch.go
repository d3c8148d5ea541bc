package fib

// LookupBatch looks up all of dst (IPv4 addresses, first octet most
// significant) and stores the group of dst[i] in out[i]. It panics when out is
// shorter than dst. Batches of 64 to 128 are best: the loads of one batch
// overlap.
func (t *Table) LookupBatch(dst []uint32, out []uint16) {
	t.lookupBatch(dst, out[:len(dst)])
}

// lookupInGo is LookupBatch for machines without an assembly version, and what
// that version is compared with. The slices are equally long.
//
// Eight at a time, each stored as soon as it is loaded, keeps all of it in
// registers, and the index instead of shrinking slices frees the loop of bounds
// checks: 1.2 instead of 1.6 ns a lookup over a million flows.
func (t *Table) lookupInGo(dst []uint32, out []uint16) {
	entries, i := t.entries, 0
	for ; i <= len(dst)-8 && i <= len(out)-8; i += 8 {
		d, o := (*[8]uint32)(dst[i:]), (*[8]uint16)(out[i:])
		e := loadEntry(&entries[d[0]>>8])
		o[0] = e
		seen := e
		e = loadEntry(&entries[d[1]>>8])
		o[1] = e
		seen |= e
		e = loadEntry(&entries[d[2]>>8])
		o[2] = e
		seen |= e
		e = loadEntry(&entries[d[3]>>8])
		o[3] = e
		seen |= e
		e = loadEntry(&entries[d[4]>>8])
		o[4] = e
		seen |= e
		e = loadEntry(&entries[d[5]>>8])
		o[5] = e
		seen |= e
		e = loadEntry(&entries[d[6]>>8])
		o[6] = e
		seen |= e
		e = loadEntry(&entries[d[7]>>8])
		o[7] = e
		seen |= e
		if seen&extendedBit != 0 {
			t.resolveExtended(d[:], o[:])
		}
	}
	for ; i < len(dst) && i < len(out); i++ {
		out[i] = t.Lookup(dst[i])
	}
}

// resolveExtended replaces the extended entries in out by those of their
// extended groups. Few /24s have one.
func (t *Table) resolveExtended(dst []uint32, out []uint16) {
	for i, e := range out {
		if e&extendedBit != 0 {
			out[i] = t.lookupExtended(e, dst[i])
		}
	}
}
