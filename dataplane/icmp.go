package dataplane

import (
	"time"

	"routerd/dataplane/packet"
)

// maxICMP is the longest error message with its IPv4 header (RFC 1812, 4.3.2.3).
const maxICMP = 576

const (
	icmpTTL = 64
	icmpTOS = 0xc0 // internetwork control, RFC 1812, 4.3.2.5
)

// bucket is a token bucket: rate tokens a second, at most burst.
type bucket struct {
	rate, burst float64
	tokens      float64
	last        time.Time
}

func (b *bucket) take(now time.Time) bool {
	if passed := now.Sub(b.last).Seconds(); passed > 0 {
		b.tokens = min(b.burst, b.tokens+passed*b.rate)
		b.last = now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// icmpError tells the sender of a packet what became of it, where that is allowed (RFC
// 1812, 4.3.2.7) and the rate limit permits.
func (s *slowPath) icmpError(t traveller, kind, code uint8, mtu int) {
	about := t.ip()
	if packet.Ethernet(t.frame).Destination().IsGroup() || !answerable(about) {
		return
	}
	source := s.icmpSource(t.in, about.Source())
	if source == 0 {
		return
	}
	if !s.icmpErrors.take(s.now) {
		s.row(t.in).add(cICMPSuppressed, 1)
		return
	}
	const header = packet.IPv4Len + packet.ICMPLen
	quote := about[:min(len(about), about.TotalLen(), maxICMP-header)]
	frame := s.scratch[:packet.EthernetLen+header+len(quote)]
	ip := packet.IPv4(frame[packet.EthernetLen:])
	copy(ip[header:], quote)
	packet.ICMP(ip[packet.IPv4Len:]).Encode(kind, code, uint16(min(mtu, 0xffff)))
	s.identifier++
	ip.Encode(packet.IPv4Fields{TOS: icmpTOS, TTL: icmpTTL, Protocol: packet.ProtoICMP, ID: s.identifier,
		Source: source, Destination: about.Source()})
	s.row(t.in).add(cICMPSent, 1)
	s.route(traveller{frame: frame, in: t.in, ours: true})
}

// answerable says whether an error about p may be sent: not about errors, not about later
// fragments, not to or about what is no host.
func answerable(p packet.IPv4) bool {
	if martian(p.Source()) || martian(p.Destination()) || p.FragmentOffset() != 0 {
		return false
	}
	if p.Protocol() != packet.ProtoICMP {
		return true
	}
	if p.HeaderLen() > len(p) {
		return false
	}
	m, err := packet.ParseICMP(p.Payload())
	return err == nil && !m.IsError()
}

// icmpSource is the address of the port by which a packet came, or of any port where that
// has none.
func (s *slowPath) icmpSource(in int, sender uint32) uint32 {
	if p := s.ports[in]; p != nil {
		if a := p.sourceFor(sender); a != 0 {
			return a
		}
	}
	for _, p := range s.ports {
		if p != nil && len(p.addresses) > 0 {
			return packet.FromAddr(p.addresses[0].Addr())
		}
	}
	return 0
}
