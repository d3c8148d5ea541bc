package rib

import (
	"fmt"
	"net/netip"

	"routerd/fib"
)

// Source says where a candidate comes from.
type Source uint8

const (
	Connected Source = iota
	Static
	EBGP
	IBGP
	sources
	noSource = sources
)

// Administrative distances: the candidate with the lowest is used. Static routes
// carry their own, DistanceStatic unless the configuration says otherwise.
const (
	DistanceConnected = 0
	DistanceStatic    = 1
	DistanceEBGP      = 20
	DistanceIBGP      = 200
)

func (s Source) String() string {
	switch s {
	case Connected:
		return "connected"
	case Static:
		return "static"
	case EBGP:
		return "ebgp"
	case IBGP:
		return "ibgp"
	}
	return fmt.Sprintf("source %d", uint8(s))
}

// Port is what the RIB knows of a port.
type Port struct {
	Index     uint16 // as in fib.NextHop
	Name      string
	Up        bool
	Addresses []netip.Prefix // own address with the length of its subnet
}

// StaticRoute is a route of the configuration.
type StaticRoute struct {
	Prefix   netip.Prefix
	Action   fib.Action   // ActionForward, ActionBlackhole or ActionUnreachable
	Via      []netip.Addr // gateways of ActionForward
	Distance uint8        // 1 to 255; 0 stands for DistanceStatic
}

// Change is one BGP path that came or went.
type Change struct {
	Prefix netip.Prefix
	Peer   netip.Addr
	Path   *Path // nil: withdrawn
}

// Path is a path as a BGP peer announced it, after import policy. The RIB keeps one
// record for all prefixes that a peer announces with equal Paths, so memory depends
// on Attrs being shared.
type Path struct {
	PeerAS   uint32
	PeerID   netip.Addr // BGP identifier
	Internal bool       // iBGP
	NextHop  netip.Addr
	Preference
	Attrs any // what show displays; comparable, usually a pointer; handed back as it is
}

// Preference is what RFC 4271 compares of a path's attributes.
type Preference struct {
	LocalPref  uint32 // higher wins; 100 where the peer sent none
	PathLen    int    // AS path length: a set counts 1
	Origin     uint8  // 0 IGP, 1 EGP, 2 incomplete
	NeighborAS uint32 // first AS of the path, 0 where there is none
	MED        uint32 // 0 where the peer sent none
}
