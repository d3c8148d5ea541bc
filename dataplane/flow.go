package dataplane

import (
	"math/bits"

	"routerd/dataplane/packet"
)

// portProtocols has a bit for each protocol whose header begins with two ports.
var portProtocols = [4]uint64{
	packet.ProtoTCP >> 6:  1<<packet.ProtoTCP | 1<<packet.ProtoUDP | 1<<packet.ProtoDCCP,
	packet.ProtoSCTP >> 6: 1<<(packet.ProtoSCTP&63) | 1<<(packet.ProtoUDPLite&63),
}

func hasPorts(protocol uint8) bool { return portProtocols[protocol>>6]>>(protocol&63)&1 != 0 }

// flowHash chooses the member of a next-hop group. Source, destination and ports are as
// the packet has them, read as little-endian words; ports are 0 for protocols without
// them and for every fragment, also the first, so that all of a datagram go one way.
func flowHash(source, destination, ports uint32, protocol uint8) uint32 {
	h := (uint64(source)<<32 | uint64(destination)) * 0x9e3779b97f4a7c15
	h = bits.RotateLeft64(h, 32) ^ (uint64(ports)<<8 | uint64(protocol))
	h *= 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// flowOf is the flow hash of a packet in the slow path; forward computes the same.
func flowOf(p packet.IPv4) uint32 {
	var ports uint32
	if p.HasPorts() {
		b := p.Payload()
		ports = uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	return flowHash(bits.ReverseBytes32(p.Source()), bits.ReverseBytes32(p.Destination()), ports, p.Protocol())
}
