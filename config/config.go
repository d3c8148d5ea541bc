// Package config turns routerd.conf, written in HCL version 2, into a validated
// Config, and tells two Configs apart.
//
// A Config is plain data: parsing looks at no interface, file or socket of the
// host, so the same text gives the same Config or the same errors everywhere.
//
// A file goes through three steps. The language tables (language.go) say which
// blocks and arguments exist; reading turns the syntax tree into sections that hold
// only those (section.go); decoding makes the values and checks what they mean
// together (router.go, port.go, route.go, policy.go, bgp.go, control.go). Every step
// goes on after an error, so that all errors of a file are reported at once.
//
// Values are never changed after Parse returns them and may be read by any number
// of goroutines; the functions of the package hold no state.
//
// Sources: HCL native syntax specification; RFC 1112, 1122 and 6890 (addresses),
// 3021 (/31), 1997, 7999 and 8326 (communities), 4271, 4724, 5082, 7607 and 8212 (BGP).
package config

import (
	"net/netip"
	"time"
)

// Config is one whole, validated routerd.conf.
type Config struct {
	Router    Router
	Dataplane Dataplane
	Ports     []Port   // in the order of the file
	Routes    []Route  // static routes, in the order of the file
	BGP       *BGP     // nil: no BGP
	Policies  []Policy // every policy of the file, prefix lists resolved into the terms

	PrefixLists []PrefixList // every prefix list of the file, used by a policy or not

	Control []Socket // never empty: a default socket stands in
}

// Router names the router.
type Router struct {
	Name string
	AS   uint32     // 0 where there is no BGP
	ID   netip.Addr // BGP identifier and router id, IPv4; by default the numerically highest port address
}

// Idle says what a worker does when its rings are empty.
type Idle string

const (
	IdleSpin     Idle = "spin"     // never sleeps: 100 % of a CPU, lowest latency
	IdleAdaptive Idle = "adaptive" // spins while there is work, then blocks in poll
)

// Dataplane sizes the forwarding process. A change of it needs a restart of the
// forwarding process.
type Dataplane struct {
	CPUs    []int // one worker for each, in order; empty: Workers unpinned workers
	Workers int   // number of workers, 1 to 64; len(CPUs) where CPUs is given
	Idle    Idle
	Buffers int // packet buffers in the shared region, 0: chosen from ports and queues
}

// Port is one interface that routerd forwards on.
type Port struct {
	Name        string // ours, for example "xe0"
	Description string
	Device      string         // the system's, for example "xdp:eth0"
	Queues      int            // receive and transmit queue pairs, 1 to 64
	MTU         int            // bytes of IP packet, 68 to 9216; 0: leave as the system has it
	Addresses   []netip.Prefix // address with the length of its subnet
}

// Action is what a static route does with a packet.
type Action string

const (
	ActionForward     Action = "forward"
	ActionBlackhole   Action = "blackhole"   // dropped in silence
	ActionUnreachable Action = "unreachable" // dropped with ICMP host unreachable
)

// Route is a static route.
type Route struct {
	Prefix   netip.Prefix
	Action   Action
	Via      []netip.Addr // next hops of ActionForward
	Distance int          // 1 to 255, 1 by default
}

// PrefixMatch matches every prefix inside Prefix whose length is MinLen to MaxLen.
type PrefixMatch struct {
	Prefix netip.Prefix
	MinLen int
	MaxLen int
}

// PrefixList is a named set of prefixes; it is never empty.
type PrefixList struct {
	Name     string
	Prefixes []PrefixMatch
}

// Policy is a list of terms tried in order; a route that matches none is rejected.
type Policy struct {
	Name  string
	Terms []Term
}

// Term is one step of a policy. An empty condition matches everything; several
// conditions must all match.
type Term struct {
	Name         string
	PrefixList   string        // name of the prefix list, for display
	Prefixes     []PrefixMatch // its content; one of them must match
	Communities  []string      // "AS:value"; one of them must be present
	SetLocalPref *uint32
	SetMED       *uint32
	Prepend      int      // times the own AS is put in front on export
	AddCommunity []string // "AS:value"
	Accept       bool
}

// BGP is the routing protocol's part of the configuration.
type BGP struct {
	ListenPort      int           // TCP port, 179 by default
	Multipath       int           // equal-cost paths installed for a prefix, 1 to 16
	GracefulRestart time.Duration // 0: off; otherwise 1 s to 4095 s, 120 s by default (RFC 4724)
	Neighbors       []Neighbor    // groups are resolved into their neighbours
}

// Neighbor is one BGP session.
type Neighbor struct {
	Address      netip.Addr
	Group        string // name of the group it stands in, for display; empty: none
	Description  string
	AS           uint32
	Import       string        // policy name; empty: nothing is accepted (RFC 8212)
	Export       string        // policy name; empty: nothing is announced (RFC 8212)
	Port         int           // TCP port of the neighbour, 179 by default
	Passive      bool          // wait for the neighbour to connect
	HoldTime     time.Duration // 0: no keepalives and no timeout; otherwise 3 s to 65535 s, 90 s by default
	MaxPrefixes  int           // 0: the default of 1,200,000
	PasswordFile string        // file that holds the TCP-MD5 key; empty: none
	TTLSecurity  bool          // RFC 5082
	Multihop     int           // highest number of hops to an eBGP neighbour, 1 by default
	Prepend      int           // times the own AS is put in front of every path sent
}

// Internal reports whether n is an iBGP neighbour of a router in AS as.
func (n Neighbor) Internal(as uint32) bool { return n.AS == as }

// Socket is one control socket.
type Socket struct {
	Path   string
	Group  string // group of the socket's file; empty: root's
	Access Access
}

// Access is what a control socket allows.
type Access string

const (
	AccessFull Access = "full"
	AccessRead Access = "read"
)
