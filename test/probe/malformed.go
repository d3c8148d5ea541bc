//go:build linux

package probe

import (
	"encoding/binary"
	"net/netip"
)

// Malformed is a frame that no router may forward.
type Malformed struct {
	Name  string
	Frame []byte
}

const (
	etherLen = 14
	ipLen    = 20
)

// MalformedFrames spoils the sound packet u in every way listed here. Header
// checksums are right except where the checksum is the fault.
func MalformedFrames(u UDP) []Malformed {
	spoil := func(change func(ip []byte)) []byte {
		frame := u.Frame()
		change(frame[etherLen:])
		return frame
	}
	spoilFixed := func(change func(ip []byte)) []byte {
		return spoil(func(ip []byte) {
			change(ip)
			fixChecksum(ip)
		})
	}
	from := func(source string) []byte {
		v := u
		v.Src = netip.AddrPortFrom(netip.MustParseAddr(source), u.Src.Port())
		return v.Frame()
	}
	to := func(destination string) []byte {
		v := u
		v.Dst = netip.AddrPortFrom(netip.MustParseAddr(destination), u.Dst.Port())
		return v.Frame()
	}
	return []Malformed{
		{"ethernet header only", u.Frame()[:etherLen]},
		{"cut inside the ip header", u.Frame()[:etherLen+ipLen-1]},
		{"ip version 6", spoilFixed(func(ip []byte) { ip[0] = 0x65 })},
		{"ip version 0", spoilFixed(func(ip []byte) { ip[0] = 0x05 })},
		{"header length 4 words", spoilFixed(func(ip []byte) { ip[0] = 0x44 })},
		{"header length beyond the frame", spoil(func(ip []byte) { ip[0] = 0x4f })},
		{"total length below the header", spoilFixed(func(ip []byte) { binary.BigEndian.PutUint16(ip[2:], ipLen-1) })},
		{"total length beyond the frame", spoilFixed(func(ip []byte) { binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)+1)) })},
		{"header checksum off by one", spoil(func(ip []byte) { binary.BigEndian.PutUint16(ip[10:], binary.BigEndian.Uint16(ip[10:])^1) })},
		{"ttl 0", spoilFixed(func(ip []byte) { ip[8] = 0 })},
		{"source 0.0.0.0", from("0.0.0.0")},
		{"source loopback", from("127.0.0.1")},
		{"source multicast", from("224.0.0.5")},
		{"source limited broadcast", from("255.255.255.255")},
		{"destination 0.0.0.0", to("0.0.0.0")},
		{"destination loopback", to("127.0.0.1")},
		{"destination class E", to("240.0.0.1")},
	}
}

// fixChecksum writes the right header checksum for the header length that the
// packet claims, as far as the packet reaches.
func fixChecksum(ip []byte) {
	header := ip[:min(len(ip), max(ipLen, int(ip[0]&15)*4))]
	header[10], header[11] = 0, 0
	binary.BigEndian.PutUint16(header[10:], ^sum(header, 0))
}
