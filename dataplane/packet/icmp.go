package packet

import "encoding/binary"

// ICMPLen is the length of the header of error messages.
const ICMPLen = 8

// ICMP types and codes that the router sends.
const (
	ICMPUnreachable  uint8 = 3
	ICMPTimeExceeded uint8 = 11

	CodeNet          uint8 = 0
	CodeHost         uint8 = 1
	CodeFragNeeded   uint8 = 4
	CodeTTLInTransit uint8 = 0
)

// ICMP is a message of RFC 792.
type ICMP []byte

// ParseICMP views b as a message; it does not check the checksum.
func ParseICMP(b []byte) (ICMP, error) {
	if len(b) < ICMPLen {
		return nil, ErrShort
	}
	return ICMP(b), nil
}

func (m ICMP) Type() uint8      { return m[0] }
func (m ICMP) Code() uint8      { return m[1] }
func (m ICMP) Checksum() uint16 { return binary.BigEndian.Uint16(m[2:]) }
func (m ICMP) MTU() uint16      { return binary.BigEndian.Uint16(m[6:]) } // of CodeFragNeeded, RFC 1191
func (m ICMP) Payload() []byte  { return m[ICMPLen:] }

// IsError says whether nobody may answer m with an ICMP error (RFC 1122, 3.2.2). Unknown
// types count as errors.
func (m ICMP) IsError() bool {
	switch m.Type() {
	case 0, 8, 9, 10, 13, 14, 15, 16, 17, 18:
		return false
	}
	return true
}

// Encode writes the header over the payload that is already there.
func (m ICMP) Encode(kind, code uint8, mtu uint16) {
	m[0], m[1] = kind, code
	clear(m[2:ICMPLen])
	binary.BigEndian.PutUint16(m[6:], mtu)
	binary.BigEndian.PutUint16(m[2:], Sum(m))
}
