package packet

import "encoding/binary"

// ARP operations.
const (
	ARPRequest uint16 = 1
	ARPReply   uint16 = 2
)

// ARPLen is the length of a packet for IPv4 over Ethernet.
const ARPLen = 28

// arpKind is hardware type 1, protocol 0x0800, lengths 6 and 4.
const arpKind = 0x0001_0800_0604

// ARP is a packet of RFC 826 for IPv4 over Ethernet.
type ARP []byte

// ParseARP views b as ARP. It fails with ErrShort, or ErrARP for other hardware and
// protocols, unknown operations, and senders that are no station.
func ParseARP(b []byte) (ARP, error) {
	if len(b) < ARPLen {
		return nil, ErrShort
	}
	a := ARP(b[:ARPLen])
	if binary.BigEndian.Uint64(a)>>16 != arpKind {
		return nil, ErrARP
	}
	if op := a.Op(); op != ARPRequest && op != ARPReply || !a.SenderMAC().IsStation() {
		return nil, ErrARP
	}
	return a, nil
}

func (a ARP) Op() uint16       { return binary.BigEndian.Uint16(a[6:]) }
func (a ARP) SenderMAC() MAC   { return MAC(a[8:14]) }
func (a ARP) SenderIP() uint32 { return binary.BigEndian.Uint32(a[14:]) }
func (a ARP) TargetMAC() MAC   { return MAC(a[18:24]) }
func (a ARP) TargetIP() uint32 { return binary.BigEndian.Uint32(a[24:]) }

// Encode writes all fields.
func (a ARP) Encode(op uint16, senderMAC MAC, senderIP uint32, targetMAC MAC, targetIP uint32) {
	binary.BigEndian.PutUint64(a, arpKind<<16|uint64(op))
	copy(a[8:14], senderMAC[:])
	binary.BigEndian.PutUint32(a[14:], senderIP)
	copy(a[18:24], targetMAC[:])
	binary.BigEndian.PutUint32(a[24:], targetIP)
}
