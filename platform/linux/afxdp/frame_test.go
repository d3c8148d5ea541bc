//go:build linux

package afxdp

import (
	"encoding/binary"
	"net/netip"
)

// udp builds a UDP packet of IPv4 over Ethernet that carries a sequence number.
func udp(dst, src [6]byte, to netip.Addr, seq uint32, payload int) []byte {
	f := make([]byte, 0, 42+payload)
	f = append(append(append(f, dst[:]...), src[:]...), 0x08, 0x00)
	ip := make([]byte, 20)
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(28+payload))
	copy(ip[12:], []byte{198, 18, 0, 1})
	copy(ip[16:], to.AsSlice())
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum>>16+sum))
	f = append(f, ip...)
	f = binary.BigEndian.AppendUint16(f, uint16(1024+seq%512))
	f = binary.BigEndian.AppendUint16(f, 9)
	f = binary.BigEndian.AppendUint16(f, uint16(8+payload))
	f = append(f, 0, 0)
	for i := range payload {
		f = append(f, byte(seq)+byte(i))
	}
	binary.BigEndian.PutUint32(f[42:], seq)
	return f
}

// sequence is the number in a frame of udp, and whether it is one.
func sequence(f []byte) (uint32, bool) {
	if len(f) < 46 || f[12] != 8 || f[13] != 0 || f[23] != 17 || f[36] != 0 || f[37] != 9 {
		return 0, false
	}
	return binary.BigEndian.Uint32(f[42:]), true
}
