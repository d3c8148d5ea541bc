package rib

import (
	"iter"
	"net/netip"
)

var everything = netip.PrefixFrom(netip.AddrFrom4([4]byte{}), 0)

// after iterates over the entries within a prefix that come after another one, in
// the order of address, then length. An invalid after stands for the beginning.
// The lock must be held.
func (r *RIB) after(within, after netip.Prefix) iter.Seq2[netip.Prefix, *entry] {
	return resume(r.table.Subnets, within, after)
}

// resume is after for any table, by its method Subnets.
func resume[V any](subnets func(netip.Prefix) iter.Seq2[netip.Prefix, V], within, after netip.Prefix) iter.Seq2[netip.Prefix, V] {
	return func(yield func(netip.Prefix, V) bool) {
		if !after.IsValid() {
			subnets(within)(yield)
			return
		}
		for p, e := range subnets(after) {
			if p != after && !yield(p, e) {
				return
			}
		}
		// What follows stands in the right halves of the prefixes around after.
		word := wordOf(after.Addr())
		for bits := after.Bits(); bits > within.Bits(); bits-- {
			half := uint32(1) << (32 - bits)
			if word&half != 0 {
				continue
			}
			right := netip.PrefixFrom(addrOf(word|half), bits).Masked()
			for p, e := range subnets(right) {
				if !yield(p, e) {
					return
				}
			}
		}
	}
}

// inChunks iterates over what a table has within a prefix, by the table's method Subnets,
// as copies that copied makes under the lock. The lock is held for size of them at a time
// and never while the caller has the turn.
func inChunks[V, T any](r *RIB, size int, within netip.Prefix,
	subnets func(netip.Prefix) iter.Seq2[netip.Prefix, V], copied func(netip.Prefix, V) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		if !within.IsValid() || !within.Addr().Is4() {
			return
		}
		within := within.Masked()
		var after netip.Prefix
		for part := make([]T, 0, size); ; part = part[:0] {
			r.mu.RLock()
			for p, v := range resume(subnets, within, after) {
				part = append(part, copied(p, v))
				if after = p; len(part) == size {
					break
				}
			}
			r.mu.RUnlock()
			for _, t := range part {
				if !yield(t) {
					return
				}
			}
			if len(part) < size {
				return
			}
		}
	}
}
