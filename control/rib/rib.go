// Package rib is the router's IPv4 routing table: every candidate for every
// prefix, the choice among them, and its compilation into the FIB.
//
//	prefix -> candidates -> winners -> group of next hops -> FIB group
//
// Candidates come from ports (connected), the configuration (static) and BGP (all
// paths of all peers that passed import policy). A next hop is a gateway as the
// protocol gave it; it is resolved by looking the gateway up in the RIB itself,
// down to a neighbour on a connected subnet. Routes with the same winners and the
// same backup share one group, so that a lost next hop costs one write for each
// group, whatever the number of prefixes; those follow afterwards.
//
// Invariants:
//   - What is in the FIB is a function of ports, static routes and BGP paths
//     alone, never of the order in which they came. Nothing is decided from an
//     edge: a change marks prefixes and next hops, and these are decided afresh.
//   - A route is in the FIB if and only if a candidate of it has a next hop that
//     resolves, or it is listed as failed with the FIB's reason.
//   - A prefix is never resolved through itself.
//
// A next hop follows the longest match that has an eligible candidate, with these
// exceptions: a BGP next hop never follows the default route; a blackhole or
// unreachable route is followed only where it is a /32, as an anchor of an aggregate
// says nothing about the way to a neighbour; the router's own and its subnets'
// broadcast addresses are no neighbours.
//
// Every method may be called from any goroutine. Changes take effect before the
// call returns. Changes and reads share one lock, held for at most one chunk of
// prefixes at a time, so a read waits for milliseconds behind a full table.
//
// Sources: RFC 4271 section 9.1 (decision), RFC 7454 (safe defaults), RFC 1812
// section 5.3.5 and RFC 2644 (directed broadcasts), RFC 3021 (/31 links), RFC 5635
// (blackholing by next hop); Filsfils et al., "BGP Prefix Independent
// Convergence" (2011) for groups that carry their backup.
package rib

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/gaissmai/bart"
)

// chunk is the greatest number of prefixes changed or read under one hold of the
// lock.
const chunk = 4096

// MaxMultipath is the greatest number of paths that share a prefix's traffic.
const MaxMultipath = 16

// Options of a RIB. The zero value is usable.
type Options struct {
	Log       *slog.Logger     // nil: slog.Default
	Multipath int              // equal BGP paths used for a prefix, 1 to MaxMultipath; 0: 1
	Clock     func() time.Time // nil: time.Now

	// OnLocalRoutes is told the prefixes that are connected or static and in use,
	// in order, whenever they change. Calls come one at a time, outside the RIB's
	// lock, from the goroutine that caused the change. It may read the RIB, and
	// must not change it.
	OnLocalRoutes func([]netip.Prefix)
}

// RIB is a routing table. Make one with New.
type RIB struct {
	log           *slog.Logger
	clock         func() time.Time
	epoch         time.Time // entries keep their time as seconds since then
	second        uint32    // now, while a change holds the lock
	onLocalRoutes func([]netip.Prefix)

	mu        sync.RWMutex // guards everything down to local
	multipath int
	table     bart.Table[*entry]
	counts    [sources]int // prefixes by the source of their winner

	ports  map[uint16]Port
	locals map[localKey]*path
	peers  map[netip.Addr]*peer
	stale  map[netip.Addr]*peer // earlier sessions of peers that restart gracefully

	nextHops  map[*nextHop]struct{}  // all that some path uses
	fixed     map[fixedKey]*nextHop  // those without a gateway
	gateways  bart.Table[[]*nextHop] // the others, by gateway
	recursive map[*nextHop]struct{}  // those whose answer depends on other next hops
	groups    map[string]*group
	lastID    uint32 // of the next hop made last

	pending // marked work, done by commit and settle
	program // the FIB

	local struct { // what OnLocalRoutes was told
		sync.Mutex
		told []netip.Prefix
	}
}

// New makes an empty RIB without a FIB.
func New(o Options) *RIB {
	r := &RIB{
		log:           o.Log,
		clock:         o.Clock,
		onLocalRoutes: o.OnLocalRoutes,
		multipath:     min(max(o.Multipath, 1), MaxMultipath),
		ports:         map[uint16]Port{},
		locals:        map[localKey]*path{},
		peers:         map[netip.Addr]*peer{},
		stale:         map[netip.Addr]*peer{},
		nextHops:      map[*nextHop]struct{}{},
		fixed:         map[fixedKey]*nextHop{},
		recursive:     map[*nextHop]struct{}{},
		groups:        map[string]*group{},
	}
	r.pending.init()
	r.program.init()
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.clock == nil {
		r.clock = time.Now
	}
	r.epoch = r.clock()
	return r
}

// SetMultipath changes the number of equal BGP paths used for a prefix, 1 to
// MaxMultipath; values outside are brought to the nearer end.
func (r *RIB) SetMultipath(n int) {
	n = min(max(n, 1), MaxMultipath)
	r.change(func() {
		if n == r.multipath {
			return
		}
		r.multipath = n
		r.markAllNextHops()
		r.walkAll()
	})
}

// change runs one bounded mutation and everything that follows from it.
func (r *RIB) change(mutate func()) {
	r.lock()
	mutate()
	r.commit()
	r.retry = true
	r.mu.Unlock()
	r.settle()
}

func (r *RIB) lock() {
	r.mu.Lock()
	r.second = uint32(r.clock().Sub(r.epoch) / time.Second)
}
