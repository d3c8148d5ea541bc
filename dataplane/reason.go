package dataplane

// DropReason says why a packet went no further. Every dropped packet counts under one.
type DropReason uint8

const (
	DropRunt DropReason = iota
	DropTooLong
	DropChain
	DropOtherMAC
	DropLinkBroadcast
	DropEtherType
	DropVersion
	DropHeaderLength
	DropTotalLength
	DropChecksum
	DropMartianSource
	DropMartianDestination
	DropMulticast
	DropSourceRoute
	DropARP
	DropTTL
	DropNoRoute
	DropBlackhole
	DropUnreachable
	DropPortDown
	DropNeighbor
	DropNeighborQueue
	DropNeighborTable
	DropTooBig
	DropFragmentation
	DropTxFull
	DropTxBuffer
	DropPuntOverflow
	DropInjectOverflow
	DropNoHostPath
	DropHostQueue
	DropReasons int = iota
)

var dropReasons = [DropReasons]struct{ name, meaning string }{
	DropRunt:               {"runt", "frame shorter than an Ethernet and an IPv4 header; the sender or the link is broken"},
	DropTooLong:            {"frame-too-long", "frame longer than the receive buffer; lower the sender's MTU or raise the port's"},
	DropChain:              {"frame-chain", "frame spread over several buffers; switch LRO off or lower the MTU of the link"},
	DropOtherMAC:           {"other-mac", "frame for another station; normal where a switch floods, otherwise somebody has an old ARP entry"},
	DropLinkBroadcast:      {"link-broadcast", "packet for one host in a link-layer broadcast or multicast; never forwarded (RFC 1812, 5.3.4)"},
	DropEtherType:          {"unknown-ethertype", "neither IPv4 nor ARP, and the port has no host path to give it to"},
	DropVersion:            {"bad-version", "EtherType says IPv4, the header another version"},
	DropHeaderLength:       {"bad-header-length", "IPv4 header length below 20 bytes or beyond the frame"},
	DropTotalLength:        {"bad-total-length", "IPv4 total length below its header or beyond the frame; truncated on the way"},
	DropChecksum:           {"bad-checksum", "IPv4 header checksum is wrong; look for a broken link or a sender that relies on checksum offload"},
	DropMartianSource:      {"martian-source", "source address that no packet may come from (0/8, 127/8, 169.254/16, 224/3)"},
	DropMartianDestination: {"martian-destination", "destination address that no packet may be routed to (0/8, 127/8, 169.254/16, 240/4)"},
	DropMulticast:          {"multicast", "multicast packet; not routed, and the port has no host path to give it to"},
	DropSourceRoute:        {"source-route", "IPv4 source route option; refused for security"},
	DropARP:                {"bad-arp", "ARP packet that is damaged or not for IPv4 over Ethernet"},
	DropTTL:                {"ttl-expired", "TTL reached zero; answered by ICMP time exceeded as far as the rate limit allows; many of them: a routing loop"},
	DropNoRoute:            {"no-route", "no route to the destination; answered by ICMP network unreachable as far as the rate limit allows"},
	DropBlackhole:          {"blackhole", "the route is a blackhole, or the destination a subnet's broadcast address; silent by intent"},
	DropUnreachable:        {"unreachable", "the route is unreachable by configuration; answered by ICMP host unreachable"},
	DropPortDown:           {"port-down", "the way out is a port that is down or not there; see show port"},
	DropNeighbor:           {"neighbor-unresolved", "no ARP answer from the next hop; see show neighbor"},
	DropNeighborQueue:      {"neighbor-queue-full", "too many packets waited for the ARP answer of a next hop"},
	DropNeighborTable:      {"neighbor-table-full", "too many neighbours, or too many unanswered ones: somebody may be scanning a connected subnet"},
	DropTooBig:             {"packet-too-big", "packet larger than the MTU of the way out, with don't fragment; answered by ICMP fragmentation needed"},
	DropFragmentation:      {"bad-fragment", "packet larger than the MTU of the way out that cannot be cut: it would end beyond 65,535 bytes, or its options are damaged"},
	DropTxFull:             {"tx-full", "transmit ring full: the port sends more slowly than packets come"},
	DropTxBuffer:           {"tx-buffer-too-small", "frame longer than the buffers of the port it should leave by; make their MTU settings agree"},
	DropPuntOverflow:       {"punt-overflow", "the slow path had no room for a packet that needs it (ARP, an unresolved neighbour, the host)"},
	DropInjectOverflow:     {"inject-overflow", "a worker had no room for a packet from the slow path"},
	DropNoHostPath:         {"no-host-path", "packet for the router itself on a port without a way to the host's stack"},
	DropHostQueue:          {"host-queue-full", "the host's stack took packets for the router too slowly"},
}

// String is the reason's stable name, Meaning one sentence for the operator.
func (r DropReason) String() string {
	if int(r) < DropReasons {
		return dropReasons[r].name
	}
	return "unknown"
}

// Meaning says what the reason means and what to do.
func (r DropReason) Meaning() string {
	if int(r) < DropReasons {
		return dropReasons[r].meaning
	}
	return "a reason of another version of routerd"
}

// PuntCause says why a worker gave a packet to the slow path.
type PuntCause uint8

const (
	PuntARP PuntCause = iota
	PuntResolve
	PuntGlean
	PuntOptions
	PuntHost
	PuntTTL
	PuntNoRoute
	PuntUnreachable
	PuntNeighbor
	PuntTooBig
	PuntFragment
	PuntCauses int = iota
)

// class orders the causes by what may not starve: each class has its own ring.
type class uint8

const (
	classARP class = iota
	classNeighbor
	classHost
	classError
	classes int = iota
)

// puntCauses names the causes. For a cause whose packet is dropped whatever the slow path
// does (it only sends an ICMP error), drop is the reason; then overflow of the ring is no
// loss, only a suppressed error.
var puntCauses = [PuntCauses]struct {
	name, meaning string
	class         class
	terminal      bool
	drop          DropReason
}{
	PuntARP:         {"arp", "ARP packet", classARP, false, DropPuntOverflow},
	PuntResolve:     {"resolve", "the next hop's MAC address is not known yet", classNeighbor, false, DropPuntOverflow},
	PuntGlean:       {"glean", "the destination is on a connected subnet and its MAC address is not known yet", classNeighbor, false, DropPuntOverflow},
	PuntOptions:     {"options", "the IPv4 header has options", classError, false, DropPuntOverflow},
	PuntHost:        {"host", "for the router itself or for the host's stack", classHost, false, DropPuntOverflow},
	PuntTTL:         {"ttl", "the TTL has expired", classError, true, DropTTL},
	PuntNoRoute:     {"no-route", "there is no route", classError, true, DropNoRoute},
	PuntUnreachable: {"unreachable", "the route says unreachable", classError, true, DropUnreachable},
	PuntNeighbor:    {"neighbor-failed", "the next hop does not answer ARP", classError, true, DropNeighbor},
	PuntTooBig:      {"too-big", "larger than the MTU of the way out, with don't fragment", classError, true, DropTooBig},
	PuntFragment:    {"fragment", "larger than the MTU of the way out; to be sent in fragments", classError, false, DropPuntOverflow},
}

// String is the cause's stable name.
func (c PuntCause) String() string {
	if int(c) < PuntCauses {
		return puntCauses[c].name
	}
	return "unknown"
}

// Meaning says when a packet is punted for this cause.
func (c PuntCause) Meaning() string {
	if int(c) < PuntCauses {
		return puntCauses[c].meaning
	}
	return "a cause of another version of routerd"
}
