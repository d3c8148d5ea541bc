// Package packet reads and writes the headers that the router touches: Ethernet, ARP,
// IPv4 and ICMP. A header is a view, a []byte type with accessors; nothing is copied.
//
// Invariant: a view that came out of a Parse function is long enough for every accessor,
// whatever bytes it holds. Views made by conversion are the caller's promise of the same.
// Addresses are uint32 with the first octet most significant, as the FIB takes them.
//
// The package has no state; any goroutine may use it on bytes that it owns.
//
// Sources: IEEE 802.3, RFC 826 (ARP), RFC 791 (IPv4), RFC 792 (ICMP), RFC 1071 and
// RFC 1624 (checksum), RFC 1812 (what a router has to check).
package packet

import (
	"errors"
	"net/netip"
)

// What Parse functions find wrong.
var (
	ErrShort        = errors.New("shorter than its header")
	ErrVersion      = errors.New("not IP version 4")
	ErrHeaderLength = errors.New("IPv4 header length is less than 20 bytes or more than the packet")
	ErrTotalLength  = errors.New("IPv4 total length is less than its header or more than the frame")
	ErrChecksum     = errors.New("IPv4 header checksum is wrong")
	ErrARP          = errors.New("not an ARP packet for IPv4 over Ethernet")
)

// Addr converts an address to netip's form, FromAddr back. FromAddr of anything but an
// IPv4 address is 0.
func Addr(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

// FromAddr is the inverse of Addr.
func FromAddr(a netip.Addr) uint32 {
	if a = a.Unmap(); !a.Is4() {
		return 0
	}
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
