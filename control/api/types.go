package api

import (
	"net/netip"
	"time"
)

// Source says where a route comes from.
type Source string

const (
	SourceConnected Source = "connected" // subnet or own address of a port
	SourceStatic    Source = "static"    // route block of routerd.conf
	SourceEBGP      Source = "ebgp"      // BGP, neighbour in another AS
	SourceIBGP      Source = "ibgp"      // BGP, neighbour in our AS
	SourceUnknown   Source = "unknown"   // left in the FIB by an earlier control process
)

// Action says what is done with a packet.
type Action string

const (
	ActionForward     Action = "forward"     // to a next hop
	ActionGlean       Action = "glean"       // connected subnet: the destination is the neighbour
	ActionLocal       Action = "local"       // own address: to the host's stack
	ActionBlackhole   Action = "blackhole"   // dropped in silence
	ActionUnreachable Action = "unreachable" // dropped with ICMP host unreachable
)

// NeighborState is the state of an adjacency by its RFC 4861 name.
type NeighborState string

const (
	NeighborIncomplete NeighborState = "incomplete" // asked, no answer yet
	NeighborReachable  NeighborState = "reachable"  // answered lately
	NeighborStale      NeighborState = "stale"      // answered once, not confirmed lately
	NeighborDelay      NeighborState = "delay"      // stale and used, probe due
	NeighborProbe      NeighborState = "probe"      // being asked again by unicast
)

// NextHop is one way out of the router.
type NextHop struct {
	Address netip.Addr    `json:"ip-address,omitzero"` // gateway; absent on a connected subnet
	Port    string        `json:"port,omitzero"`       // absent while the gateway does not resolve
	DstMAC  string        `json:"dst-mac,omitzero"`    // the rewrite's destination, once known
	SrcMAC  string        `json:"src-mac,omitzero"`    // the rewrite's source: the port's own
	State   NeighborState `json:"neighbor-state,omitzero"`
}

// FIBEntry is one prefix of the FIB as packets meet it.
type FIBEntry struct {
	Prefix          netip.Prefix `json:"prefix"`
	Source          Source       `json:"source"`
	Peer            netip.Addr   `json:"peer,omitzero"` // BGP neighbour the winner came from
	PeerDescription string       `json:"peer-description,omitzero"`
	Since           time.Time    `json:"last-change,omitzero"`
	Action          Action       `json:"action"`
	NextHops        []NextHop    `json:"next-hops,omitzero"`
	Backups         []NextHop    `json:"backups,omitzero"` // next hops of the candidate that would follow
	Stale           bool         `json:"stale,omitzero"`   // not relearned since the control process restarted
}

// Usage is how full a table of fixed size is.
type Usage struct {
	Used int `json:"used"`
	Max  int `json:"max"`
}

// FIBCounts answers `show fib --count`.
type FIBCounts struct {
	Connected      int          `json:"connected"`
	Static         int          `json:"static"`
	EBGP           int          `json:"ebgp"`
	IBGP           int          `json:"ibgp"`
	Stale          int          `json:"stale"`        // counted in none of the sources
	Failed         int          `json:"failed"`       // routes that should be in the FIB and are not
	Total          int          `json:"total"`        // prefixes in the FIB
	TableOctets    uint64       `json:"table-octets"` // memory the table occupies
	ExtendedGroups Usage        `json:"extended-groups"`
	NextHops       Usage        `json:"next-hops"`
	NextHopGroups  Usage        `json:"next-hop-groups"`
	Audit          Audit        `json:"audit"`
	Failures       []FIBFailure `json:"failures,omitzero"` // the first 20 of Failed
}

// Audit is what the continuous comparison of RIB and FIB found.
type Audit struct {
	Last        time.Time `json:"last-pass,omitzero"` // end of the last whole pass; absent before it
	Checked     uint64    `json:"checked"`            // comparisons since start
	Divergences uint64    `json:"divergences"`        // differences found, and repaired, since start
	LastFound   time.Time `json:"last-divergence,omitzero"`
}

// FIBFailure is a route that could not be put into the FIB.
type FIBFailure struct {
	Prefix netip.Prefix `json:"prefix"`
	Reason string       `json:"reason"`
}

// Route is one prefix of the RIB with every candidate for it, best first.
type Route struct {
	Prefix     netip.Prefix `json:"prefix"`
	Candidates []Candidate  `json:"candidates"`
	InFIB      bool         `json:"in-fib"`
	NotInFIB   string       `json:"not-in-fib-reason,omitzero"`
	Covering   []Covering   `json:"covering,omitzero"` // most specific first; only when an address was asked for
}

// Candidate is one route for a prefix.
type Candidate struct {
	Source          Source     `json:"source"`
	Distance        int        `json:"distance"`
	Best            bool       `json:"best"`           // in use; several with multipath
	Loses           string     `json:"loses,omitzero"` // why it is not in use: the first rule that decided
	Action          Action     `json:"action"`
	NextHops        []NextHop  `json:"next-hops,omitzero"`
	Peer            netip.Addr `json:"peer,omitzero"`
	PeerDescription string     `json:"peer-description,omitzero"`
	Since           time.Time  `json:"last-change,omitzero"`
	Path            *BGPPath   `json:"path,omitzero"` // BGP only
	Note            string     `json:"note,omitzero"` // for example "broadcast"
}

// BGPPath is the attributes of a BGP route after import policy.
type BGPPath struct {
	ASPath      string   `json:"as-path"` // sets in braces, as operators write them
	Origin      string   `json:"origin"`  // igp, egp or incomplete
	LocalPref   uint32   `json:"local-pref"`
	MED         *uint32  `json:"med,omitzero"`
	Communities []string `json:"communities,omitzero"` // "AS:value" or the well-known name
}

// Covering is a less specific route above the one that was asked for.
type Covering struct {
	Prefix   netip.Prefix `json:"prefix"`
	Source   Source       `json:"source"`
	Action   Action       `json:"action"`
	NextHops []NextHop    `json:"next-hops,omitzero"`
}

// Status answers `show status`, /healthz and /readyz.
type Status struct {
	Hostname  string       `json:"hostname"`
	Version   string       `json:"software-version"`
	AS        uint32       `json:"as,omitzero"`
	RouterID  netip.Addr   `json:"router-id,omitzero"`
	PID       int          `json:"pid"`
	Started   time.Time    `json:"up-since"`
	Dataplane Dataplane    `json:"dataplane"`
	Config    ConfigStatus `json:"config"`
	PortsUp   Usage        `json:"ports"`        // Used: up
	Sessions  Usage        `json:"bgp-sessions"` // Used: Established
	FIBRoutes int          `json:"fib-routes"`   // prefixes in the FIB
	FIBStale  int          `json:"fib-stale"`    // of them not relearned yet
	FIBFailed int          `json:"fib-failed"`   // routes the FIB refused
	Unhealthy []string     `json:"unhealthy"`    // what is broken; empty: healthy
	NotReady  []string     `json:"not-ready"`    // what is still awaited; empty: ready for traffic
	Warnings  []string     `json:"warnings"`     // what an operator should mend
}

// Dataplane is the forwarding process as the control process sees it.
type Dataplane struct {
	PID      int       `json:"pid,omitzero"` // absent: not running
	Started  time.Time `json:"up-since,omitzero"`
	Idle     string    `json:"idle"` // spin or adaptive
	Restarts int       `json:"restarts"`
	Workers  []Worker  `json:"workers"`
}

// Worker is one thread of the forwarding process, its counters since that started.
type Worker struct {
	ID         int    `json:"worker"`
	CPU        int    `json:"cpu"` // -1: not pinned
	InPkts     uint64 `json:"in-pkts"`
	OutPkts    uint64 `json:"out-pkts"`
	Dropped    uint64 `json:"dropped-pkts"`
	Punted     uint64 `json:"punted-pkts"` // given to the slow path
	Rounds     uint64 `json:"rounds"`
	BusyRounds uint64 `json:"busy-rounds"` // rounds that found a packet
}

// ConfigStatus says which configuration runs.
type ConfigStatus struct {
	Path      string    `json:"path"`
	Revision  int       `json:"revision"`
	Applied   time.Time `json:"applied"`
	AppliedBy string    `json:"applied-by,omitzero"` // for example "alice (uid 1001)"
}

// BGP answers `show bgp` and, with one neighbour, `show bgp neighbor`.
type BGP struct {
	AS        uint32        `json:"as,omitzero"`
	RouterID  netip.Addr    `json:"router-id,omitzero"`
	Neighbors []BGPNeighbor `json:"neighbors"`
}

// SessionState is a BGP session's state by its RFC 4271 name.
type SessionState string

// SessionEstablished is the one state in which routes are exchanged.
const SessionEstablished SessionState = "Established"

// BGPNeighbor is one BGP session.
type BGPNeighbor struct {
	Address      netip.Addr   `json:"neighbor-address"`
	AS           uint32       `json:"peer-as"`
	Description  string       `json:"description,omitzero"`
	Internal     bool         `json:"internal"`
	State        SessionState `json:"session-state"`
	Since        time.Time    `json:"last-change,omitzero"` // when State was entered
	RouterID     netip.Addr   `json:"peer-router-id,omitzero"`
	Received     int          `json:"received"`   // routes in the session before policy
	Accepted     int          `json:"accepted"`   // of them after policy
	Advertised   int          `json:"advertised"` // routes of this router that the export policy lets through to it
	Refused      []Refused    `json:"refused,omitzero"`
	MaxPrefixes  int          `json:"max-prefixes"`
	ImportPolicy string       `json:"import-policy,omitzero"`
	ExportPolicy string       `json:"export-policy,omitzero"`
	LastDown     *Down        `json:"last-down,omitzero"`
	RetryAt      time.Time    `json:"retry-at,omitzero"` // when a session held down is tried again
	HoldTime     int          `json:"hold-time"`         // seconds, as configured
	Negotiated   int          `json:"negotiated-hold-time,omitzero"`
	TCPMD5       bool         `json:"tcp-md5"`
	TTLSecurity  bool         `json:"ttl-security"`
	CapsReceived []string     `json:"capabilities-received,omitzero"`
	EndOfRIB     bool         `json:"end-of-rib-received"`
	InUpdates    uint64       `json:"in-updates"`
	QueueDepth   int          `json:"queue-depth"`       // changes received and not yet in the RIB
	WorstLag     float64      `json:"worst-lag-seconds"` // longest wait of an UPDATE for the RIB since start
	Notes        []string     `json:"notes,omitzero"`
}

// Refused counts routes of a session that were not accepted, by the reason.
type Refused struct {
	Reason string `json:"reason"`
	Routes int    `json:"routes"`
}

// Down is how a session ended.
type Down struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
}

// Port is one port with its counters since the forwarding process started.
type Port struct {
	Name        string         `json:"port"`
	Description string         `json:"description,omitzero"`
	Device      string         `json:"device"`
	Driver      string         `json:"driver,omitzero"`
	Mode        string         `json:"mode,omitzero"`       // native, zero copy, copy, ...
	OperStatus  string         `json:"oper-status"`         // up or down
	Speed       uint64         `json:"port-speed,omitzero"` // bits a second
	LastChange  time.Time      `json:"last-change,omitzero"`
	Transitions uint64         `json:"carrier-transitions"`
	MAC         string         `json:"mac-address"`
	MTU         int            `json:"mtu"` // bytes of IP packet
	Addresses   []netip.Prefix `json:"addresses,omitzero"`
	Counters    Counters       `json:"counters"`
	Rates       Rates          `json:"rates,omitzero"` // absent until two samples were taken
	Queues      []Queue        `json:"queues,omitzero"`
	Notes       []string       `json:"notes,omitzero"` // what an operator should mend
}

// Counters are a port's or a queue's counters.
type Counters struct {
	InPkts      uint64 `json:"in-pkts"`
	InOctets    uint64 `json:"in-octets"`
	OutPkts     uint64 `json:"out-pkts"`
	OutOctets   uint64 `json:"out-octets"`
	Dropped     uint64 `json:"dropped-pkts"`  // arrived here, dropped under a reason of show drops
	Punted      uint64 `json:"punted-pkts"`   // arrived here, taken by the slow path or the host and not dropped there
	Injected    uint64 `json:"injected-pkts"` // of out-pkts and dropped: ARP, ICMP, and packets that had waited for a neighbour
	InDiscards  uint64 `json:"in-discards"`   // lost in the NIC or its ring before us
	OutDiscards uint64 `json:"out-discards"`  // the transmit ring was full
	InPause     uint64 `json:"in-pause-frames"`
	OutPause    uint64 `json:"out-pause-frames"`
}

// Rates are a port's or a queue's speed over the server's sampling window.
type Rates struct {
	Window float64 `json:"window-seconds"`
	InPPS  float64 `json:"in-pkts-per-second"`
	OutPPS float64 `json:"out-pkts-per-second"`
	InBPS  float64 `json:"in-bits-per-second"`
	OutBPS float64 `json:"out-bits-per-second"`
}

// Queue is one receive and transmit queue pair. One worker owns it.
type Queue struct {
	ID       int      `json:"queue"`
	Worker   int      `json:"worker"`
	CPU      int      `json:"cpu"` // -1: not pinned
	Counters Counters `json:"counters"`
	Rates    Rates    `json:"rates,omitzero"`
}

// Neighbor is one entry of the ARP table.
type Neighbor struct {
	Port      string        `json:"port"`
	Address   netip.Addr    `json:"ip-address"`
	MAC       string        `json:"link-layer-address,omitzero"` // absent while incomplete
	State     NeighborState `json:"neighbor-state"`
	Confirmed time.Time     `json:"last-confirmed,omitzero"`
	Used      time.Time     `json:"last-used,omitzero"`
	Held      int           `json:"held-pkts"`    // waiting for the answer now
	Dropped   uint64        `json:"dropped-pkts"` // given up while waiting
}

// Drop is one reason for which packets are dropped.
type Drop struct {
	Reason  string     `json:"reason"`
	Packets uint64     `json:"packets"`
	Last    time.Time  `json:"last-seen,omitzero"`
	Meaning string     `json:"meaning"` // what it means and what to do, one line
	Ports   []PortDrop `json:"ports,omitzero"`
}

// PortDrop is the part of a Drop that arrived on one port.
type PortDrop struct {
	Port    string `json:"port"`
	Packets uint64 `json:"packets"`
}

// Config answers `config show`: the running configuration as canonical text.
type Config struct {
	ConfigStatus
	Text string `json:"text"`
}

// ConfigPlan is what applying a configuration would change.
type ConfigPlan struct {
	File    string   `json:"file"`
	Changes []string `json:"changes"` // one line each, with what it interrupts; empty: nothing changes
	Diff    string   `json:"diff"`    // + and - lines of the canonical text
}

// ConfigApplied is the result of a change.
type ConfigApplied struct {
	Revision int      `json:"revision"`
	By       string   `json:"applied-by"`
	Changes  []string `json:"changes"`
	Notes    []string `json:"notes,omitzero"` // for example that a restart will load another file
}

// Ports answers `show port`.
type Ports struct {
	Ports []Port `json:"ports"`
}

// Neighbors answers `show neighbor`.
type Neighbors struct {
	Neighbors []Neighbor `json:"neighbors"`
}

// Drops answers `show drops`.
type Drops struct {
	Drops []Drop `json:"drops"`
}
