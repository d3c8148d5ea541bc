package dataplane

import "routerd/dataplane/packet"

// route does for one packet in the slow path what workers do for a batch: it looks the
// destination up anew, for much may have changed since the packet was punted.
func (s *slowPath) route(t traveller) {
	p := t.ip()
	dst := p.Destination()
	group := s.table.Lookup(dst)
	nextHop, only := s.table.Only(group)
	if !only {
		nextHop = s.table.Select(group, flowOf(p))
	}
	a := &s.state.adj[nextHop]
	meta := a.meta.Load()
	kind, out := metaKind(meta), s.ports[metaPort(meta)]
	forwards := kind == AdjReady || kind == AdjUnresolved || kind == AdjFailed || kind == AdjGlean
	switch {
	case kind == AdjNoRoute:
		s.refuse(t, DropNoRoute, packet.ICMPUnreachable, packet.CodeNet, 0)
	case kind == AdjUnreachable:
		s.refuse(t, DropUnreachable, packet.ICMPUnreachable, packet.CodeHost, 0)
	case kind == AdjBlackhole:
		s.drop(t, DropBlackhole)
	case kind == AdjLocal && !t.ours && s.ports[t.in] != nil:
		s.deliver(s.ports[t.in], t)
	case !forwards || out == nil || !out.up:
		s.drop(t, DropPortDown)
	case !t.ours && p.TTL() <= 1:
		s.refuse(t, DropTTL, packet.ICMPTimeExceeded, packet.CodeTTLInTransit, 0)
	case kind == AdjReady:
		header := a.header()
		a.used.Store(1)
		s.forward(t, out, packet.MAC(header[0:6]))
	case kind == AdjGlean:
		s.toNeighbor(t, out, dst)
	default:
		if h := s.hops[nextHop]; h != nil && h.neighbor != nil {
			s.wait(t, h.neighbor)
		} else {
			s.drop(t, DropPortDown)
		}
	}
}

// forward sends a packet to a station on a port.
func (s *slowPath) forward(t traveller, out *port, dst packet.MAC) {
	p := t.ip()
	size := p.TotalLen()
	if size > out.mtu {
		if p.DontFragment() {
			s.refuse(t, DropTooBig, packet.ICMPUnreachable, packet.CodeFragNeeded, out.mtu)
		} else {
			s.fragment(t, out, dst)
		}
		return
	}
	if !t.ours {
		p.DecrementTTL()
	}
	packet.Ethernet(t.frame).Encode(dst, out.mac, packet.TypeIPv4)
	frame := t.frame[:max(packet.EthernetLen+size, min(len(t.frame), packet.MinFrame))]
	switch {
	case !s.emit(out, frame):
		s.drop(t, DropInjectOverflow)
	case t.ours:
		s.row(out.index).add(cOriginated, 1)
	default:
		s.row(t.in).add(cTxPackets, 1)
	}
}

// sourceRouted says whether a packet has a loose or strict source route option, or
// options that do not parse.
func sourceRouted(p packet.IPv4) bool {
	for options := p.Options(); ; {
		option, rest, ok := packet.NextOption(options)
		if !ok || option != nil && (option[0] == 131 || option[0] == 137) {
			return true
		}
		if option == nil {
			return false
		}
		options = rest
	}
}
