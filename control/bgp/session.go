package bgp

import (
	"cmp"
	"net/netip"
	"time"

	"routerd/config"
)

// refusal says why a received route is not used. They are counted by neighbour.
type refusal uint8

const (
	accepted refusal = iota
	refusedNoPolicy
	refusedASLoop
	refusedFirstAS
	refusedOriginator
	refusedOwnNextHop
	refusedMartianNextHop
	refusedMartianPrefix
	refusedByPolicy
	refusals
)

var refusalText = [refusals]string{
	refusedNoPolicy:       "no import policy (RFC 8212)",
	refusedASLoop:         "own AS in the AS path",
	refusedFirstAS:        "AS path does not begin with the neighbour's AS",
	refusedOriginator:     "own router id in ORIGINATOR_ID",
	refusedOwnNextHop:     "next hop is an address of this router",
	refusedMartianNextHop: "next hop is no unicast IPv4 address",
	refusedMartianPrefix:  "prefix in loopback, multicast or reserved space",
	refusedByPolicy:       "rejected by import policy",
}

// session is the Adj-RIB-In of one neighbour. It belongs to the speaker's loop.
//
// Its memory is one map entry of 16 bytes for each prefix; adverts are kept once
// however many prefixes they carry, and counted so that the last prefix to leave
// frees them.
type session struct {
	conf config.Neighbor
	self identity
	in   *rules // nil: no import policy
	out  *rules // nil: no export policy

	source  uint64  // the engine's peer object that the connection belongs to
	ending  uint64  // the same until the engine has let go of the connection, which may be later
	opening bool    // GoBGP says it is up; its identifier has not come yet
	held    []event // of a session that is opening
	up      bool
	peerID  netip.Addr
	restart restart         // of the neighbour's last OPEN
	notice  string          // the NOTIFICATION that ends the connection; empty: none yet
	waiters []chan struct{} // closed when the engine has let go of the connection
	ups     int             // sessions the tap saw come up
	shown   int             // of these, in GoBGP's peer events

	routes   map[prefix4]*candidate
	learned  map[string]*learned
	counts   [refusals]int
	exceeded bool // max_prefixes reached; waits for the retry

	view Neighbor // what Neighbors shows, but for the counts
}

// identity is what the router itself is, as far as sessions need it.
type identity struct {
	as        uint32
	id        netip.Addr
	addresses map[netip.Addr]bool // of its ports
}

// learned is one advert with what was made of it for the prefixes it carries.
type learned struct {
	*advert
	path   *Path   // before policy
	reason refusal // that holds for every prefix of it
	made   []*candidate
}

// candidate is one outcome of a learned advert.
type candidate struct {
	from   *learned
	term   int // policy term that matched
	reason refusal
	path   *Path // nil where refused
	refs   int   // prefixes that point here
}

func newSession(conf config.Neighbor, self identity, in *rules) *session {
	s := &session{conf: conf, self: self, in: in}
	s.view = Neighbor{Address: conf.Address, State: "Idle", Since: time.Now()}
	s.describe()
	s.clear()
	return s
}

func (s *session) clear() {
	s.routes = make(map[prefix4]*candidate)
	s.learned = make(map[string]*learned)
	s.counts = [refusals]int{}
}

func (s *session) internal() bool { return s.conf.Internal(s.self.as) }

// limit is the largest number of prefixes the neighbour may announce.
func (s *session) limit() int {
	if s.conf.MaxPrefixes > 0 {
		return s.conf.MaxPrefixes
	}
	return config.DefaultMaxPrefixes
}

// announce takes prefixes of one advert in and reports what changed to emit.
func (s *session) announce(ad *advert, prefixes []prefix4, emit func(Change)) {
	l := s.learn(ad)
	for _, p := range prefixes {
		s.replace(p, s.judge(l, p), emit)
	}
	s.forgetUnused(l)
}

func (s *session) withdraw(prefixes []prefix4, emit func(Change)) {
	for _, p := range prefixes {
		s.replace(p, nil, emit)
	}
}

// replace puts c in the place of what was known of p; nil withdraws.
func (s *session) replace(p prefix4, c *candidate, emit func(Change)) {
	old := s.routes[p]
	if old == c {
		return
	}
	var before, after *Path
	if old != nil {
		before = old.path
		s.counts[old.reason]--
	}
	if c != nil {
		after = c.path
		s.counts[c.reason]++
		c.refs++
		s.routes[p] = c
	} else {
		delete(s.routes, p)
	}
	if old != nil {
		s.release(old)
	}
	if before != after {
		emit(Change{Prefix: p.prefix(), Peer: s.conf.Address, Path: after})
	}
}

func (s *session) release(c *candidate) {
	c.refs--
	if c.refs > 0 {
		return
	}
	l := c.from
	for i, m := range l.made {
		if m == c {
			l.made = append(l.made[:i], l.made[i+1:]...)
			break
		}
	}
	s.forgetUnused(l)
}

func (s *session) forgetUnused(l *learned) {
	if len(l.made) == 0 && s.learned[l.key] == l {
		delete(s.learned, l.key)
	}
}

func (s *session) learn(ad *advert) *learned {
	if l := s.learned[ad.key]; l != nil {
		return l
	}
	attrs := &ad.attrs
	if !s.internal() || !ad.hasPref {
		attrs.LocalPref = DefaultLocalPref // RFC 4271, section 5.1.5
	}
	l := &learned{advert: ad, reason: s.check(ad), path: &Path{
		Peer: s.conf.Address, PeerAS: s.conf.AS, PeerID: s.peerID, Internal: s.internal(),
		NextHop: ad.nextHop, Attrs: attrs,
	}}
	s.learned[ad.key] = l
	return l
}

// check is the part of the judgement that does not depend on the prefix.
func (s *session) check(ad *advert) refusal {
	for _, as := range ad.ases {
		if as == s.self.as {
			return refusedASLoop
		}
	}
	if !s.internal() && ad.attrs.NeighborAS != s.conf.AS {
		return refusedFirstAS // RFC 4271, section 6.3
	}
	if ad.attrs.Originator.IsValid() && ad.attrs.Originator == s.self.id {
		return refusedOriginator // RFC 4456, section 8
	}
	if s.self.addresses[ad.nextHop] {
		return refusedOwnNextHop
	}
	if !ad.nextHop.Is4() {
		return refusedMartianNextHop
	}
	for _, m := range martians {
		if m.Contains(ad.nextHop) && !(ad.nextHop.IsLoopback() && s.conf.Address.IsLoopback()) {
			return refusedMartianNextHop
		}
	}
	return accepted
}

// judge finds or makes the outcome of l for p.
func (s *session) judge(l *learned, p prefix4) *candidate {
	reason, term := l.reason, -1
	switch {
	case reason != accepted:
	case martianPrefixes.contains(p):
		reason = refusedMartianPrefix
	case s.in == nil:
		reason = refusedNoPolicy
	default:
		var ok bool
		if term, ok = s.in.match(p, l.attrs.Communities); !ok {
			reason = refusedByPolicy
		}
	}
	for _, c := range l.made {
		if c.reason == reason && c.term == term {
			return c
		}
	}
	c := &candidate{from: l, term: term, reason: reason}
	if reason == accepted {
		c.path = l.path
		if attrs := s.in.terms[term].apply(l.path.Attrs); attrs != l.path.Attrs {
			changed := *l.path
			changed.Attrs = attrs
			c.path = &changed
		}
	}
	l.made = append(l.made, c)
	return c
}

// reconsider judges every route again, after a change of policy or of the
// router's addresses. A path that comes out as it was is not reported.
func (s *session) reconsider(emit func(Change)) {
	before := make(map[*learned][]*candidate, len(s.learned))
	for _, l := range s.learned {
		before[l], l.made = l.made, nil
		l.reason = s.check(l.advert)
	}
	for p, old := range s.routes {
		l := old.from
		c := s.judge(l, p)
		if c.refs == 0 && c.path != nil {
			for _, b := range before[l] {
				if b.path != nil && b.path.Attrs.equal(c.path.Attrs) {
					c.path = b.path
					break
				}
			}
		}
		s.replace(p, c, emit)
	}
}

func (s *session) received() int { return len(s.routes) }

// describe copies the configuration into the view.
func (s *session) describe() {
	v := &s.view
	v.Description, v.AS, v.Internal = s.conf.Description, s.conf.AS, s.internal()
	v.Import, v.Export = s.conf.Import, s.conf.Export
	v.HoldTime, v.MaxPrefixes = cmp.Or(s.conf.HoldTime, defaultHoldTime), s.limit()
}

func (s *session) snapshot() Neighbor {
	v := s.view
	v.Received, v.Accepted = s.received(), s.counts[accepted]
	for reason := accepted + 1; reason < refusals; reason++ {
		if n := s.counts[reason]; n > 0 {
			v.Refused = append(v.Refused, Refusal{refusalText[reason], n})
		}
	}
	return v
}
