package fib

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"net/netip"
)

// key is a prefix as the arrays know it.
type key struct {
	addr   uint32
	length int
}

func keyOf(p netip.Prefix) (key, error) {
	if !p.IsValid() || !p.Addr().Is4() {
		return key{}, fmt.Errorf("fib: %v: %w", p, ErrInvalidPrefix)
	}
	a := p.Addr().As4()
	k := key{binary.BigEndian.Uint32(a[:]), p.Bits()}
	if k.addr&(1<<(32-k.length)-1) != 0 {
		return key{}, fmt.Errorf("fib: %v: %w: host bits set, did you mean %v", p, ErrInvalidPrefix, p.Masked())
	}
	return k, nil
}

func (k key) prefix() netip.Prefix { return netip.PrefixFrom(addrOf(k.addr), k.length) }

// slot returns the first /24 of the prefix.
func (k key) slot() uint32 { return k.addr >> 8 }

// exactIndex is the place of a prefix up to /24 that starts at or covers slot.
func exactIndex(slot uint32, length int) uint32 {
	return 1<<length | slot>>(24-length)
}

// longIndex is the place of a prefix longer than /24 in its extended group.
func longIndex(last uint8, length int) uint32 {
	return 1<<(length-24) | uint32(last)>>(32-length)
}

// place returns where the group of k is kept; nil when its /24 has no extended
// group.
func (w *Writer) place(k key) *uint16 {
	if k.length <= 24 {
		return &w.exact[exactIndex(k.slot(), k.length)]
	}
	if x := w.extended.get(k.slot()); x != 0 {
		return &w.extendedExact[x][longIndex(uint8(k.addr), k.length)]
	}
	return nil
}

// Get returns the group of exactly this prefix.
func (w *Writer) Get(p netip.Prefix) (g uint16, ok bool) {
	k, err := keyOf(p)
	if err != nil {
		return 0, false
	}
	at := w.place(k)
	if at == nil || *at == 0 {
		return 0, false
	}
	return *at, true
}

// Match returns the longest prefix that covers addr, and its group, by the
// writer's own state and not by the table that readers use.
func (w *Writer) Match(addr netip.Addr) (netip.Prefix, uint16, bool) {
	if !addr.Is4() {
		return netip.Prefix{}, 0, false
	}
	b := addr.As4()
	a := binary.BigEndian.Uint32(b[:])
	length, g := 0, uint16(0)
	if x := w.extended.get(a >> 8); x != 0 {
		length, g = longParent(&w.extendedExact[x], uint8(a), 33)
	}
	if g == 0 {
		length, g = w.parent(a>>8, 25)
	}
	if g == 0 {
		length, g = 0, w.exact[1]
	}
	if g == 0 {
		return netip.Prefix{}, 0, false
	}
	return netip.PrefixFrom(addr, length).Masked(), g, true
}

// parent returns the longest prefix over slot that is shorter than length and
// longer than the default route, or 0, 0: just what the slot holds when the rest
// is taken away.
func (w *Writer) parent(slot uint32, length int) (int, uint16) {
	lengths := w.head.lengths & (1<<length - 1) &^ 1
	for lengths != 0 {
		n := bits.Len64(lengths) - 1
		if g := w.exact[exactIndex(slot, n)]; g != 0 {
			return n, g
		}
		lengths &^= 1 << n
	}
	return 0, 0
}

// longParent is parent for the prefixes longer than /24 of one extended group.
func longParent(exact *[512]uint16, last uint8, length int) (int, uint16) {
	for n := length - 1; n > 24; n-- {
		if g := exact[longIndex(last, n)]; g != 0 {
			return n, g
		}
	}
	return 0, 0
}

// All returns every prefix and its group, by address and then by length. The FIB
// may be changed during the iteration; changes ahead of it show.
func (w *Writer) All() iter.Seq2[netip.Prefix, uint16] {
	return func(yield func(netip.Prefix, uint16) bool) {
		if g := w.exact[1]; g != 0 && !yield(key{}.prefix(), g) {
			return
		}
		for slot := range uint32(slots) {
			shortest := max(1, 24-bits.TrailingZeros32(slot)) // of those that start here
			lengths := w.head.lengths & (1<<25 - 1) &^ (1<<shortest - 1)
			for ; lengths != 0; lengths &= lengths - 1 {
				n := bits.TrailingZeros64(lengths)
				g := w.exact[exactIndex(slot, n)]
				if g != 0 && !yield(key{slot << 8, n}.prefix(), g) {
					return
				}
			}
			if !w.allLong(slot, yield) {
				return
			}
		}
	}
}

func (w *Writer) allLong(slot uint32, yield func(netip.Prefix, uint16) bool) bool {
	if w.extended.get(slot) == 0 {
		return true
	}
	for last := range uint32(256) {
		first := max(25, 32-bits.TrailingZeros32(last))
		for n := first; n <= 32; n++ {
			k := key{slot<<8 | last, n}
			if at := w.place(k); at != nil && *at != 0 && !yield(k.prefix(), *at) {
				return false
			}
		}
	}
	return true
}
