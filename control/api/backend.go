package api

import (
	"context"
	"iter"
	"net/netip"
	"strings"
)

// Backend answers for the running router. The control process implements it.
//
// Every method may be called by many goroutines at once, answers from state of its
// own within milliseconds, and returns early with ctx's error when ctx ends. An
// error that wraps ErrNotFound, ErrRefused or ErrUnavailable, or is a
// config.Errors, reaches the client as such; its text is shown to the operator as
// it is. Any other error is a failure of routerd.
type Backend interface {
	Status(ctx context.Context) (Status, error)

	// FIB yields the entries q asks for, by address and then length. It must
	// honour q's Address, Prefix and Longer; the server applies q's filters.
	// It holds no lock while it yields, and stops when yield returns false.
	FIB(ctx context.Context, q FIBQuery) iter.Seq2[FIBEntry, error]
	FIBCounts(ctx context.Context) (FIBCounts, error)

	// Routes is as FIB, for the RIB.
	Routes(ctx context.Context, q RouteQuery) iter.Seq2[Route, error]

	BGP(ctx context.Context) (BGP, error)

	// Ports returns slices of the caller's own. The server computes the Rates that
	// are left empty.
	Ports(ctx context.Context) ([]Port, error)
	Neighbors(ctx context.Context) ([]Neighbor, error)
	// Drops returns every reason, also those that never happened.
	Drops(ctx context.Context) ([]Drop, error)

	Config(ctx context.Context) (Config, error)
	// PlanConfig checks src and says what ApplyConfig would do. It changes nothing.
	PlanConfig(ctx context.Context, src ConfigSource) (ConfigPlan, error)
	// ApplyConfig makes src the running configuration, wholly or not at all. by
	// names who asked, for logs and `show status`.
	ApplyConfig(ctx context.Context, src ConfigSource, by string) (ConfigApplied, error)
}

// Query selects prefixes. At most one of Address and Prefix is set; neither: all.
type Query struct {
	Address netip.Addr   // the longest match of this address
	Prefix  netip.Prefix // this prefix
	Longer  bool         // and all inside Prefix
}

// Single reports whether q asks for one prefix, so that finding none is an error.
func (q Query) Single() bool { return q.Address.IsValid() || q.Prefix.IsValid() && !q.Longer }

func (q Query) String() string {
	switch {
	case q.Address.IsValid():
		return q.Address.String()
	case q.Longer && q.Prefix.IsValid():
		return q.Prefix.String() + " and longer"
	case q.Prefix.IsValid():
		return q.Prefix.String()
	}
	return "all"
}

// FIBQuery selects FIB entries. A zero filter passes everything.
type FIBQuery struct {
	Query
	Port    string     // one of the next hops leaves by this port
	NextHop netip.Addr // one of the next hops is this gateway
	Source  Source
}

// Match reports whether e passes q's filters. A Backend may call it early to save
// the work of filling in an entry.
func (q FIBQuery) Match(e *FIBEntry) bool {
	if q.Source != "" && q.Source != e.Source {
		return false
	}
	if q.Port == "" && !q.NextHop.IsValid() {
		return true
	}
	for _, nh := range e.NextHops {
		if (q.Port == "" || nh.Port == q.Port) && (!q.NextHop.IsValid() || nh.Address == q.NextHop) {
			return true
		}
	}
	return false
}

// RouteQuery selects routes of the RIB. A zero filter passes everything.
type RouteQuery struct {
	Query
	Source   Source     // one of the candidates has this source
	Peer     netip.Addr // one of the candidates comes from this BGP neighbour
	NotInFIB bool       // only routes that are not in the FIB
}

// Match reports whether r passes q's filters.
func (q RouteQuery) Match(r *Route) bool {
	if q.NotInFIB && r.InFIB {
		return false
	}
	if q.Source == "" && !q.Peer.IsValid() {
		return true
	}
	for _, c := range r.Candidates {
		if (q.Source == "" || c.Source == q.Source) && (!q.Peer.IsValid() || c.Peer == q.Peer) {
			return true
		}
	}
	return false
}

// ConfigSource is a configuration to check or apply: the text a client sent, or
// the file routerd was started with. There is no third way: a path named by a
// client would let it read, through error excerpts, files that only root may read.
type ConfigSource struct {
	Name string // of the file Text came from, for messages
	Text []byte // nil: routerd's own file
}

// Find returns the neighbour whose address is name or whose description is name,
// whatever the case.
func (b BGP) Find(name string) (BGPNeighbor, bool) {
	addr, _ := netip.ParseAddr(name)
	for _, n := range b.Neighbors {
		if n.Address == addr || n.Description != "" && strings.EqualFold(n.Description, name) {
			return n, true
		}
	}
	return BGPNeighbor{}, false
}
