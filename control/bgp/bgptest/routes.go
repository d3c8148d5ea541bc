package bgptest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// Route is what one UPDATE says of its prefixes. The zero value of a field leaves
// the attribute out, but for NextHop, ASPath and Origin, which RFC 4271 wants.
type Route struct {
	Origin      uint8
	ASPath      []uint32 // one AS_SEQUENCE
	ASSet       []uint32 // an AS_SET behind it
	NextHop     netip.Addr
	MED         *uint32
	LocalPref   *uint32
	Communities []uint32
}

// Attributes are the path attributes of r in the order of their types.
func (r Route) Attributes() ([]bgp.PathAttributeInterface, error) {
	var segments []bgp.AsPathParamInterface
	if len(r.ASPath) > 0 {
		segments = append(segments, bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, r.ASPath))
	}
	if len(r.ASSet) > 0 {
		segments = append(segments, bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SET, r.ASSet))
	}
	hop, err := bgp.NewPathAttributeNextHop(r.NextHop)
	if err != nil {
		return nil, err
	}
	attrs := []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(r.Origin), bgp.NewPathAttributeAsPath(segments), hop,
	}
	if r.MED != nil {
		attrs = append(attrs, bgp.NewPathAttributeMultiExitDisc(*r.MED))
	}
	if r.LocalPref != nil {
		attrs = append(attrs, bgp.NewPathAttributeLocalPref(*r.LocalPref))
	}
	if len(r.Communities) > 0 {
		attrs = append(attrs, bgp.NewPathAttributeCommunities(r.Communities))
	}
	return attrs, nil
}

// Update is the UPDATE message that announces prefixes with r.
func (r Route) Update(prefixes ...netip.Prefix) (*bgp.BGPMessage, error) {
	attrs, err := r.Attributes()
	if err != nil {
		return nil, err
	}
	list, err := nlri(prefixes)
	if err != nil {
		return nil, err
	}
	return bgp.NewBGPUpdateMessage(nil, attrs, list), nil
}

func nlri(prefixes []netip.Prefix) ([]bgp.PathNLRI, error) {
	list := make([]bgp.PathNLRI, 0, len(prefixes))
	for _, p := range prefixes {
		n, err := bgp.NewIPAddrPrefix(p)
		if err != nil {
			return nil, err
		}
		list = append(list, bgp.PathNLRI{NLRI: n})
	}
	return list, nil
}

// Announce sends one UPDATE. A next hop left unset is our own address, an AS path
// left nil is our own AS.
func (s *Session) Announce(r Route, prefixes ...netip.Prefix) error {
	if !r.NextHop.IsValid() {
		r.NextHop = s.opts.Local
	}
	if r.ASPath == nil {
		r.ASPath = []uint32{s.opts.AS}
	}
	m, err := r.Update(prefixes...)
	if err != nil {
		return err
	}
	return s.Send(m)
}

// Withdraw sends one UPDATE that withdraws prefixes.
func (s *Session) Withdraw(prefixes ...netip.Prefix) error {
	list, err := nlri(prefixes)
	if err != nil {
		return err
	}
	return s.Send(bgp.NewBGPUpdateMessage(list, nil, nil))
}

// EndOfRIB sends the End-of-RIB marker (RFC 4724) of IPv4 unicast.
func (s *Session) EndOfRIB() error { return s.Send(bgp.NewEndOfRib(bgp.RF_IPv4_UC)) }

// State is what the far side has said so far.
type State struct {
	Routes       map[netip.Prefix]Route
	Updates      int // UPDATE messages with routes or withdraws
	EndOfRIB     bool
	AtEndOfRIB   map[netip.Prefix]Route // what had been announced when it came
	Notification *bgp.BGPNotification
	Done         error // why the connection ended; nil while it stands
}

// State returns what the far side has said so far.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state()
}

func (s *Session) state() State {
	return State{Routes: maps.Clone(s.routes), Updates: s.updates, EndOfRIB: s.eor, AtEndOfRIB: s.atEnd, Notification: s.notice, Done: s.done}
}

// Wait returns the first state for which ok holds.
func (s *Session) Wait(ctx context.Context, ok func(State) bool) (State, error) {
	for {
		s.mu.Lock()
		now, changed := s.state(), s.changed
		s.mu.Unlock()
		if ok(now) {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, fmt.Errorf("bgptest: %w; %d routes, %d updates, end of RIB %v, done %v",
				ctx.Err(), len(now.Routes), now.Updates, now.EndOfRIB, now.Done)
		}
	}
}

func (s *Session) read() {
	for {
		m, err := ReadMessage(s.conn)
		s.mu.Lock()
		if err != nil {
			s.done = fmt.Errorf("%w: %w", ErrClosed, err)
		} else {
			s.record(m)
		}
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			s.conn.Close()
			return
		}
	}
}

func (s *Session) record(m *bgp.BGPMessage) {
	switch body := m.Body.(type) {
	case *bgp.BGPNotification:
		s.notice = body
	case *bgp.BGPUpdate:
		if end, _ := body.IsEndOfRib(); end {
			s.eor, s.atEnd = true, maps.Clone(s.routes)
			return
		}
		s.updates++
		for _, n := range body.WithdrawnRoutes {
			delete(s.routes, n.NLRI.(*bgp.IPAddrPrefix).Prefix)
		}
		r := parse(body.PathAttributes)
		for _, n := range body.NLRI {
			s.routes[n.NLRI.(*bgp.IPAddrPrefix).Prefix] = r
		}
	}
}

func parse(attrs []bgp.PathAttributeInterface) Route {
	var r Route
	for _, a := range attrs {
		switch a := a.(type) {
		case *bgp.PathAttributeOrigin:
			r.Origin = a.Value
		case *bgp.PathAttributeAsPath:
			for _, segment := range a.Value {
				if segment.GetType() == bgp.BGP_ASPATH_ATTR_TYPE_SEQ {
					r.ASPath = append(r.ASPath, segment.GetAS()...)
				} else {
					r.ASSet = append(r.ASSet, segment.GetAS()...)
				}
			}
		case *bgp.PathAttributeNextHop:
			r.NextHop = a.Value
		case *bgp.PathAttributeMultiExitDisc:
			r.MED = &a.Value
		case *bgp.PathAttributeLocalPref:
			r.LocalPref = &a.Value
		case *bgp.PathAttributeCommunities:
			r.Communities = a.Value
		}
	}
	return r
}
