package dataplane

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"routerd/dataplane/packet"
)

// AdjacencyKind says what a worker does with a packet that reaches an adjacency.
type AdjacencyKind uint8

const (
	AdjNoRoute     AdjacencyKind = iota // drop, ICMP network unreachable
	AdjReady                            // rewrite and send
	AdjUnresolved                       // punt: the neighbour's MAC is not known
	AdjFailed                           // drop, ICMP host unreachable: the neighbour does not answer
	AdjGlean                            // the destination is the neighbour
	AdjLocal                            // to the host
	AdjBlackhole                        // drop
	AdjUnreachable                      // drop, ICMP host unreachable
	AdjPortDown                         // drop
)

func (k AdjacencyKind) String() string {
	names := [...]string{"no route", "ready", "unresolved", "failed", "glean", "local", "blackhole", "unreachable", "port down"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("adjacency kind %d", k)
}

// adjacency is the end of a route: 32 bytes without pointers. The slow path writes it,
// workers read it at the same time. A ready one was complete before its kind said so, and
// one store of destination changes the neighbour's MAC.
type adjacency struct {
	destination atomic.Uint64 // bytes 0..7 of the new header: destination, start of source
	source      atomic.Uint64 // bytes 6..13: source, EtherType
	meta        atomic.Uint64 // kind | port<<8 | mtu<<16 | limit<<32
	used        atomic.Uint32 // a worker stores 1 when it sends by it
	_           uint32
}

func (a *adjacency) setKind(k AdjacencyKind, port, mtu int) {
	mtu = min(mtu, 0xffff)
	meta := uint64(k) | uint64(port&0xff)<<8 | uint64(mtu)<<16
	if k == AdjReady {
		meta |= uint64(mtu+packet.EthernetLen) << 32
	}
	a.meta.Store(meta)
}

// setReady makes packets leave by port for the station dst.
func (a *adjacency) setReady(dst, src packet.MAC, port, mtu int) {
	var h [16]byte
	packet.Ethernet(h[:]).Encode(dst, src, packet.TypeIPv4)
	a.source.Store(binary.LittleEndian.Uint64(h[6:]))
	a.destination.Store(binary.LittleEndian.Uint64(h[0:]))
	a.setKind(AdjReady, port, mtu)
}

func metaKind(meta uint64) AdjacencyKind { return AdjacencyKind(meta) }
func metaPort(meta uint64) int           { return int(meta >> 8 & (MaxPorts - 1)) }

// metaLimit is the length of the longest frame that may leave by an adjacency without a
// further look: 0 unless it is ready, so that one comparison serves both.
func metaLimit(meta uint64) uint32 { return uint32(meta >> 32) }
func metaMTU(meta uint64) int      { return int(meta >> 16 & 0xffff) }

// header is the rewrite of a ready adjacency.
func (a *adjacency) header() (h [packet.EthernetLen]byte) {
	binary.LittleEndian.PutUint64(h[6:], a.source.Load())
	binary.LittleEndian.PutUint64(h[0:], a.destination.Load())
	return h
}

// Adjacency is an adjacency as `show fib` prints it.
type Adjacency struct {
	Kind                AdjacencyKind
	Port                int
	MTU                 int        // bytes of IP packet
	Destination, Source packet.MAC // of AdjReady
}

// Adjacency is that of a next-hop index of the FIB.
func (s *State) Adjacency(nextHop uint16) Adjacency {
	a := &s.adj[int(nextHop)%len(s.adj)]
	meta := a.meta.Load()
	v := Adjacency{Kind: metaKind(meta), Port: metaPort(meta), MTU: metaMTU(meta)}
	if v.Kind == AdjReady {
		h := a.header()
		v.Destination, v.Source = packet.MAC(h[0:6]), packet.MAC(h[6:12])
	}
	return v
}
