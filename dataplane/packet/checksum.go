package packet

import "encoding/binary"

// Sum is the Internet checksum of b (RFC 1071). Over bytes that hold their own right
// checksum it is 0.
func Sum(b []byte) uint16 {
	var sum uint64
	for len(b) >= 4 {
		sum += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// Update is the checksum after one 16-bit word of the sum has changed (RFC 1624,
// equation 3). Equation 4 and RFC 1141 differ from it where the sum passes zero.
func Update(checksum, from, to uint16) uint16 {
	sum := uint32(^checksum) + uint32(^from) + uint32(to)
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return ^uint16(sum)
}
