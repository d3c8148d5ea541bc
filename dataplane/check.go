package dataplane

import (
	"errors"

	"routerd/dataplane/packet"
	"routerd/nmring"
)

// Octets that no address to be routed begins with, and those where a longer look decides.
const (
	linkLocalNet  = 0xa9fe_0000 // 169.254/16, RFC 3927
	linkLocalMask = 0xffff_0000
	multicastNet  = 0xe000_0000 // 224/4
	multicastMask = 0xf000_0000
	everybody     = 0xffff_ffff
)

// suspect tells first octets that need the longer look of martian: 0, 127, 169, 224 to 255.
var suspect = func() (t [256]uint8) {
	t[0], t[127], t[169] = 1, 1, 1
	for i := 224; i < 256; i++ {
		t[i] = 1
	}
	return t
}()

// martian says that no packet may come from an address or be routed to it (RFC 1812,
// 5.3.7; multicast and broadcast included).
func martian(a uint32) bool {
	first := a >> 24
	return first == 0 || first == 127 || first >= 224 || a&linkLocalMask == linkLocalNet
}

// odd takes a frame that the quick check did not pass, and says whether it may go on to the
// lookup all the same; otherwise it has been punted or dropped.
func (w *Worker) odd(r *receive, at uint32) bool {
	s := r.ring.Slot(at)
	frame := r.ring.Frame(at)
	chain := r.chain | s.Flags&nmring.MoreFrag
	r.chain = s.Flags & nmring.MoreFrag
	switch {
	case chain != 0:
		return w.drop(DropChain)
	case int(s.Len) > len(frame):
		return w.drop(DropTooLong)
	case len(frame) < packet.EthernetLen:
		return w.drop(DropRunt)
	}
	eth := packet.Ethernet(frame)
	dst := eth.Destination()
	if !dst.IsGroup() && macWord(dst) != r.mac {
		return w.drop(DropOtherMAC)
	}
	switch eth.Type() {
	case packet.TypeARP:
		w.punt(r, PuntARP, frame)
		return false
	case packet.TypeIPv4:
		return w.oddIPv4(r, frame, dst.IsGroup())
	}
	if r.host {
		w.punt(r, PuntHost, frame)
		return false
	}
	return w.drop(DropEtherType)
}

func (w *Worker) oddIPv4(r *receive, frame []byte, group bool) bool {
	p, err := packet.ParseIPv4(frame[packet.EthernetLen:])
	if err != nil {
		return w.drop(parseReason(err))
	}
	dst := p.Destination()
	switch {
	case martian(p.Source()) && !(p.Source() == 0 && r.host && group):
		return w.drop(DropMartianSource)
	case dst&multicastMask == multicastNet || dst == everybody:
		if r.host {
			w.punt(r, PuntHost, frame)
			return false
		}
		if dst == everybody {
			return w.drop(DropNoHostPath)
		}
		return w.drop(DropMulticast)
	case martian(dst):
		return w.drop(DropMartianDestination)
	case group:
		return w.drop(DropLinkBroadcast)
	case p.HeaderLen() > packet.IPv4Len:
		w.punt(r, PuntOptions, frame)
		return false
	}
	return true
}

func (w *Worker) drop(reason DropReason) bool {
	w.dropped[reason]++
	return false
}

func parseReason(err error) DropReason {
	switch {
	case errors.Is(err, packet.ErrVersion):
		return DropVersion
	case errors.Is(err, packet.ErrHeaderLength):
		return DropHeaderLength
	case errors.Is(err, packet.ErrTotalLength):
		return DropTotalLength
	case errors.Is(err, packet.ErrChecksum):
		return DropChecksum
	}
	return DropRunt
}

// macWord is a MAC as the upper 6 bytes of a little-endian word.
func macWord(m packet.MAC) uint64 {
	return uint64(m[0])<<16 | uint64(m[1])<<24 | uint64(m[2])<<32 | uint64(m[3])<<40 | uint64(m[4])<<48 | uint64(m[5])<<56
}
