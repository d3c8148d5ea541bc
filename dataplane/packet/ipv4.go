package packet

import "encoding/binary"

// IPv4Len is the length of a header without options.
const IPv4Len = 20

// Protocols that the router looks into.
const (
	ProtoICMP    uint8 = 1
	ProtoTCP     uint8 = 6
	ProtoUDP     uint8 = 17
	ProtoDCCP    uint8 = 33
	ProtoSCTP    uint8 = 132
	ProtoUDPLite uint8 = 136
)

// IPv4 is a packet from its header to its total length.
type IPv4 []byte

// ParseIPv4 views b as a packet and checks what RFC 1812, 5.2.2, asks: length, version,
// header length, total length, checksum, in this order. Bytes behind the total length
// are padding and not part of the view.
func ParseIPv4(b []byte) (IPv4, error) {
	if len(b) < IPv4Len {
		return nil, ErrShort
	}
	p := IPv4(b)
	switch header, total := p.HeaderLen(), p.TotalLen(); {
	case p.Version() != 4:
		return nil, ErrVersion
	case header < IPv4Len || header > len(b):
		return nil, ErrHeaderLength
	case total < header || total > len(b):
		return nil, ErrTotalLength
	case Sum(p[:header]) != 0:
		return nil, ErrChecksum
	default:
		return p[:total], nil
	}
}

func (p IPv4) Version() int        { return int(p[0] >> 4) }
func (p IPv4) HeaderLen() int      { return int(p[0]&15) * 4 }
func (p IPv4) TotalLen() int       { return int(binary.BigEndian.Uint16(p[2:])) }
func (p IPv4) DontFragment() bool  { return p[6]&0x40 != 0 }
func (p IPv4) TTL() uint8          { return p[8] }
func (p IPv4) Protocol() uint8     { return p[9] }
func (p IPv4) Checksum() uint16    { return binary.BigEndian.Uint16(p[10:]) }
func (p IPv4) Source() uint32      { return binary.BigEndian.Uint32(p[12:]) }
func (p IPv4) Destination() uint32 { return binary.BigEndian.Uint32(p[16:]) }
func (p IPv4) Options() []byte     { return p[IPv4Len:p.HeaderLen()] }
func (p IPv4) Payload() []byte     { return p[p.HeaderLen():] }

// NextOption takes the first option off options, as Options returns them (RFC 791, 3.1). It
// returns none at the end of the list; ok is false where what stands there is no option.
func NextOption(options []byte) (option, rest []byte, ok bool) {
	size := 1
	switch {
	case len(options) == 0 || options[0] == 0: // End of Option List
		return nil, nil, true
	case options[0] == 1: // No Operation
	case len(options) < 2 || options[1] < 2 || int(options[1]) > len(options):
		return nil, nil, false
	default:
		size = int(options[1])
	}
	return options[:size], options[size:], true
}

// FragmentOffset is in units of 8 bytes. IsFragment is also true of the first one.
func (p IPv4) FragmentOffset() int { return int(binary.BigEndian.Uint16(p[6:]) & 0x1fff) }
func (p IPv4) IsFragment() bool    { return binary.BigEndian.Uint16(p[6:])&0x3fff != 0 }

// HasPorts says whether the transport header begins with source and destination port
// and this packet shows them.
func (p IPv4) HasPorts() bool {
	switch p.Protocol() {
	case ProtoTCP, ProtoUDP, ProtoDCCP, ProtoSCTP, ProtoUDPLite:
		return !p.IsFragment() && len(p) >= p.HeaderLen()+4
	}
	return false
}

// DecrementTTL takes one off the TTL, which must not be 0, and mends the checksum.
func (p IPv4) DecrementTTL() {
	from := binary.BigEndian.Uint16(p[8:])
	p[8]--
	binary.BigEndian.PutUint16(p[10:], Update(p.Checksum(), from, from-0x100))
}

// IPv4Fields are what Encode writes; the rest of a header follows from the length.
type IPv4Fields struct {
	TOS, TTL, Protocol  uint8
	ID                  uint16
	Source, Destination uint32
}

// Encode writes a header without options for a packet of len(p) bytes, with its checksum.
func (p IPv4) Encode(f IPv4Fields) {
	p[0], p[1] = 0x45, f.TOS
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	binary.BigEndian.PutUint16(p[4:], f.ID)
	binary.BigEndian.PutUint16(p[6:], 0)
	p[8], p[9] = f.TTL, f.Protocol
	binary.BigEndian.PutUint16(p[10:], 0)
	binary.BigEndian.PutUint32(p[12:], f.Source)
	binary.BigEndian.PutUint32(p[16:], f.Destination)
	binary.BigEndian.PutUint16(p[10:], Sum(p[:IPv4Len]))
}
