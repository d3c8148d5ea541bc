package packet

import (
	"encoding/binary"
	"fmt"
)

// EtherTypes that the router knows.
const (
	TypeIPv4 uint16 = 0x0800
	TypeARP  uint16 = 0x0806
)

// EthernetLen is the length of the header, MinFrame the shortest frame on a wire without
// its CRC.
const (
	EthernetLen = 14
	MinFrame    = 60
)

// MAC is a link-layer address.
type MAC [6]byte

// Broadcast reaches every station.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// IsGroup says whether m is a multicast or the broadcast address.
func (m MAC) IsGroup() bool { return m[0]&1 != 0 }

// IsStation says whether m can be the address of one station.
func (m MAC) IsStation() bool { return !m.IsGroup() && m != MAC{} }

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Ethernet is a frame with its header.
type Ethernet []byte

// ParseEthernet views b as a frame.
func ParseEthernet(b []byte) (Ethernet, error) {
	if len(b) < EthernetLen {
		return nil, ErrShort
	}
	return Ethernet(b), nil
}

func (e Ethernet) Destination() MAC { return MAC(e[0:6]) }
func (e Ethernet) Source() MAC      { return MAC(e[6:12]) }
func (e Ethernet) Type() uint16     { return binary.BigEndian.Uint16(e[12:]) }
func (e Ethernet) Payload() []byte  { return e[EthernetLen:] }

// Encode writes the header.
func (e Ethernet) Encode(dst, src MAC, etherType uint16) {
	copy(e[0:6], dst[:])
	copy(e[6:12], src[:])
	binary.BigEndian.PutUint16(e[12:], etherType)
}
