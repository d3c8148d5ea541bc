// Package bgp is the router's BGP speaker: GoBGP (github.com/osrg/gobgp/v4, v4.8.0)
// behind a small interface of our own. No type of GoBGP leaves the package.
//
// What the rest of the router sees is the Adj-RIB-In of every neighbour after import
// policy (RFC 4271, section 3.2): all paths, not only best ones. The decision, ECMP
// and next-hop resolution are control/rib's.
//
// # Who does what
//
//   - GoBGP speaks the protocol: sessions, messages, error handling (RFC 7606), and
//     what is sent to neighbours. Its table holds only routes that an export policy
//     could pass on.
//   - The tap takes every UPDATE, session up and session down from GoBGP.
//   - The loop owns one session per neighbour: Adj-RIB-In, import policy, checks,
//     limits. It alone calls the Sink.
//   - The steward owns GoBGP's management: it applies configurations and the list of
//     our own prefixes. Any of its calls may take seconds while GoBGP drops a full
//     table; nobody else waits for them.
//
// # Invariants
//
// A route reaches the sink only while its session is up and under an import policy
// that accepts it. After PeerDown or PeerRestarts nothing of that session arrives any
// more; what is stale stays until SweepPeer, which always comes. Without a
// policy a neighbour exchanges nothing, iBGP included (RFC 8212 and beyond).
// Neighbors answers from our own state, never from GoBGP's.
//
// # Why a log handler is the source of routes
//
// GoBGP v4.8.0 offers three event streams, and none will do; all was run here.
//
//   - WatchUpdate hands a path to another goroutine while the receiving one may
//     still remove LOCAL_PREF from it. An eBGP neighbour that sends LOCAL_PREF ends
//     the process with a nil dereference (3 of 3 runs with 2,400,000 routes).
//   - WatchPostUpdate builds a full copy of the neighbour's configuration for each
//     route: 29 instead of 11 CPU seconds for 900,000 routes, and 18.6 instead of
//     7.6 s until the end of a session is reported.
//   - WatchBestPath has best paths only.
//
// All three report the end of a session after its last withdraw, and none reports an
// announcement that GoBGP skips as looped though it replaces a route (gobgp#2832).
// Its logger, in contrast, is called synchronously from the receive path and is given
// the decoded message as a value. TestTapWords holds the few words this relies on;
// the session state of WatchPeer, which comes late but in order, is the cross-check.
//
// # Graceful restart (RFC 4724)
//
// With bgp.graceful_restart every session offers it, and we help every neighbour that
// offers it: when its connection breaks without a NOTIFICATION its routes stay in use
// until its End-of-RIB, until its own restart time is over, or until it comes back
// without its forwarding state. Everything else ends them at once: a NOTIFICATION of
// either side, the hold timer, max_prefixes, a change of configuration. GoBGP takes the
// hold timer and what follows its own max-prefix Cease for restarts, too, and keeps the
// routes to pass on; there the steward makes it forget the neighbour. A router that dies
// with its link up is therefore used for the hold time where its end is not heard, and
// for its restart time where its TCP is reset.
//
// After our own restart (Options.Restarting) GoBGP defers what it sends until every
// neighbour that offers graceful restart has sent its End-of-RIB, for
// bgp.graceful_restart at most. Neighbours without graceful restart wait as long.
//
// GoBGP sets the forwarding bit only together with the restart bit. When a connection
// breaks while our process lives, the neighbour therefore keeps our routes until the
// session is back and drops them then, for the moment until they are sent again.
//
// # Limits
//
//   - One Speaker per process: GoBGP has package variables.
//   - A panic on one of GoBGP's own goroutines ends the process and cannot be caught
//     from here. Calls into GoBGP and calls from it are guarded.
//   - eBGP routes keep their next hop when they are passed on to iBGP neighbours
//     (RFC 4271, section 5.1.3); our own prefixes go out with our own address.
//   - Add-path and route refresh are not asked for.
//   - set local_pref = 0 is passed on to iBGP neighbours as 1: GoBGP takes 0 for
//     unset. Our own decision uses 0.
package bgp
