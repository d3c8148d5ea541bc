package packet

import (
	"encoding/binary"
	"errors"
)

// ErrFragment is why a packet cannot be cut: its fragments would end beyond 65,535 bytes
// of the whole packet, its options do not parse, or the MTU leaves no 8 bytes of data
// behind its header.
var ErrFragment = errors.New("packet cannot be fragmented")

// Fragments cuts a packet for an MTU (RFC 791, 3.2). The first fragment has all options of
// the packet, the others those whose copied bit is set. A fragment is cut like a whole
// packet: the last piece has its more-fragments bit.
type Fragments struct {
	packet IPv4
	mtu    int
	at     int      // data bytes before the next fragment
	later  [60]byte // header of all fragments but the first
	length [2]int   // of the first one's header and of the later ones'
}

// Cut prepares the fragments of p, a sound packet longer than mtu bytes and without padding
// behind it. It does not look at don't fragment.
func (f *Fragments) Cut(p IPv4, mtu int) error {
	*f = Fragments{packet: p, mtu: mtu}
	f.length[0] = p.HeaderLen()
	n := IPv4Len
	copy(f.later[:n], p[:n])
	for options := p.Options(); ; {
		option, rest, ok := NextOption(options)
		if !ok {
			return ErrFragment
		}
		if option == nil {
			break
		}
		if option[0]&0x80 != 0 {
			n += copy(f.later[n:], option)
		}
		options = rest
	}
	f.length[1] = (n + 3) &^ 3 // filled up with End of Option List
	f.later[0] = 0x40 | byte(f.length[1]/4)
	if mtu-f.length[0] < 8 || p.FragmentOffset()*8+len(p) > 0xffff {
		return ErrFragment
	}
	return nil
}

// Count is how many fragments are still to come.
func (f *Fragments) Count() int {
	left, n := len(f.packet)-f.length[0]-f.at, 0
	if f.at == 0 {
		left, n = left-f.data(0, left), 1
	}
	if step := f.data(1, 1<<16); left > 0 {
		n += 1 + max(0, left-(f.mtu-f.length[1])+step-1)/step
	}
	return n
}

// data is how much of left bytes a fragment takes.
func (f *Fragments) data(kind, left int) int {
	room := f.mtu - f.length[kind]
	if left <= room {
		return left
	}
	return room &^ 7
}

// Next appends the next fragment to b; there must be one.
func (f *Fragments) Next(b []byte) []byte {
	kind, header := 1, f.later[:f.length[1]]
	if f.at == 0 {
		kind, header = 0, f.packet[:f.length[0]]
	}
	data := f.packet[f.length[0]+f.at:]
	take := f.data(kind, len(data))
	start := len(b)
	b = append(append(b, header...), data[:take]...)
	ip := b[start:]
	// Offset in the low 13 bits; reserved bit and the packet's own more-fragments above.
	place := binary.BigEndian.Uint16(f.packet[6:]) + uint16(f.at/8)
	if take < len(data) {
		place |= 0x2000
	}
	f.at += take
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[6:], place)
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], Sum(ip[:len(header)]))
	return b
}
