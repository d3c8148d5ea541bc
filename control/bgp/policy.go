package bgp

import (
	"fmt"
	"net/netip"
	"slices"

	"routerd/config"
)

// rules are a compiled config.Policy.
type rules struct {
	name  string
	terms []rule
}

type rule struct {
	prefixes    *prefixSet // nil: every prefix
	communities []uint32   // one must be present; empty: no condition
	accept      bool
	localPref   *uint32
	med         *uint32
	add         []uint32
}

func compile(p config.Policy) (*rules, error) {
	r := &rules{name: p.Name}
	for _, t := range p.Terms {
		c := rule{accept: t.Accept, localPref: t.SetLocalPref, med: t.SetMED}
		if t.PrefixList != "" || len(t.Prefixes) > 0 {
			c.prefixes = newPrefixSet(t.Prefixes)
		}
		var err error
		if c.communities, err = parseCommunities(t.Communities); err != nil {
			return nil, fmt.Errorf("policy %q term %q: %w", p.Name, t.Name, err)
		}
		if c.add, err = parseCommunities(t.AddCommunity); err != nil {
			return nil, fmt.Errorf("policy %q term %q: %w", p.Name, t.Name, err)
		}
		r.terms = append(r.terms, c)
	}
	return r, nil
}

func parseCommunities(list []string) ([]uint32, error) {
	var out []uint32
	for _, s := range list {
		c, err := ParseCommunity(s)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// match returns the number of the first term that matches, and whether it accepts.
// A route that no term matches is rejected with term -1.
func (r *rules) match(p prefix4, communities []uint32) (term int, accept bool) {
	for i := range r.terms {
		t := &r.terms[i]
		if t.prefixes != nil && !t.prefixes.contains(p) {
			continue
		}
		if len(t.communities) > 0 && !slices.ContainsFunc(t.communities, func(c uint32) bool {
			return slices.Contains(communities, c)
		}) {
			continue
		}
		return i, t.accept
	}
	return -1, false
}

// apply is what the term makes of a: a itself where it sets nothing.
func (t *rule) apply(a *Attrs) *Attrs {
	if t.localPref == nil && t.med == nil && len(t.add) == 0 {
		return a
	}
	b := *a
	if t.localPref != nil {
		b.LocalPref = *t.localPref
	}
	if t.med != nil {
		b.MED, b.HasMED = *t.med, true
	}
	if len(t.add) > 0 {
		b.Communities = slices.Clone(a.Communities)
		for _, c := range t.add {
			if !slices.Contains(b.Communities, c) {
				b.Communities = append(b.Communities, c)
			}
		}
	}
	if b.equal(a) {
		return a
	}
	return &b
}

// prefixSet answers whether a prefix matches one of a list in at most one map
// look-up for each length that occurs in the list.
type prefixSet struct {
	lengths []int // of the listed prefixes, ascending
	ranges  map[prefix4][]lengthRange
}

type lengthRange struct{ min, max int }

func newPrefixSet(list []config.PrefixMatch) *prefixSet {
	s := &prefixSet{ranges: make(map[prefix4][]lengthRange)}
	for _, m := range list {
		if !m.Prefix.Addr().Is4() {
			continue
		}
		bits := m.Prefix.Bits()
		if !slices.Contains(s.lengths, bits) {
			s.lengths = append(s.lengths, bits)
		}
		k := pack(m.Prefix.Masked())
		s.ranges[k] = append(s.ranges[k], lengthRange{max(m.MinLen, bits), m.MaxLen})
	}
	slices.Sort(s.lengths)
	return s
}

func (s *prefixSet) contains(p prefix4) bool {
	bits := p.bits()
	for _, length := range s.lengths {
		if length > bits {
			break
		}
		for _, r := range s.ranges[p.truncate(length)] {
			if r.min <= bits && bits <= r.max {
				return true
			}
		}
	}
	return false
}

func (p prefix4) truncate(bits int) prefix4 {
	mask := ^uint32(0) << (32 - bits)
	return prefix4(p.addr()&mask)<<32 | prefix4(bits)
}

// Ranges no neighbour may announce and no next hop may lie in (RFC 6890): "this
// network", loopback, multicast and reserved space.
var martians = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("224.0.0.0/3"),
}

var martianPrefixes = newPrefixSet([]config.PrefixMatch{
	{Prefix: martians[0], MinLen: 8, MaxLen: 32},
	{Prefix: martians[1], MinLen: 8, MaxLen: 32},
	{Prefix: martians[2], MinLen: 3, MaxLen: 32},
})
