package dataplane

import (
	"time"

	"routerd/dataplane/packet"
)

// warningEvery is how often a port's ARP conflicts are logged.
const warningEvery = time.Minute

// arp learns from an ARP frame that came by a port, and answers it. It reports false for
// a frame that is no good ARP.
//
// Only existing entries learn: a request of ours has to come first. So nobody fills the
// table, and off-subnet senders are ignored, but for gateways that control has named.
func (s *slowPath) arp(p *port, frame []byte) bool {
	eth, err := packet.ParseEthernet(frame)
	if err != nil {
		return false
	}
	a, err := packet.ParseARP(eth.Payload())
	if err != nil || eth.Type() != packet.TypeARP || eth.Source().IsGroup() {
		return false
	}
	sender, target := a.SenderIP(), a.TargetIP()
	if a.SenderMAC() == p.mac {
		return true
	}
	if p.owns(sender) {
		if s.now.Sub(s.lastWarning[p.index]) >= warningEvery {
			s.lastWarning[p.index] = s.now
			s.log.Warn("another station uses our address", "port", p.name, "address", packet.Addr(sender), "mac", a.SenderMAC())
		}
		return true
	}
	if n := s.neighbors[neighborKey{p.index, sender}]; n != nil {
		s.hear(n, a.SenderMAC(), a.Op() == packet.ARPReply && p.owns(target))
	}
	if a.Op() == packet.ARPReply {
		if p.host != nil {
			p.host.Deliver(frame)
		}
		return true
	}
	if p.owns(target) && !p.kernelARP && (sender == 0 || p.onSubnet(sender)) {
		s.sendARP(p, packet.ARPReply, a.SenderMAC(), target, a.SenderMAC(), sender)
	}
	return true
}

// solicit asks for the MAC of a neighbour: all stations, or the one that had it.
func (s *slowPath) solicit(n *neighbor) {
	p := s.ports[n.key.port]
	if p == nil {
		return
	}
	dst, target := packet.Broadcast, packet.MAC{}
	if n.state == Probe {
		dst, target = n.mac, n.mac
	}
	s.sendARP(p, packet.ARPRequest, dst, p.sourceFor(n.key.addr), target, n.key.addr)
}

func (s *slowPath) sendARP(p *port, op uint16, dst packet.MAC, sender uint32, targetMAC packet.MAC, target uint32) {
	var frame [packet.MinFrame]byte
	packet.Ethernet(frame[:]).Encode(dst, p.mac, packet.TypeARP)
	packet.ARP(frame[packet.EthernetLen:]).Encode(op, p.mac, sender, targetMAC, target)
	if s.emit(p, frame[:]) {
		s.row(p.index).add(cOriginated, 1)
	}
}
