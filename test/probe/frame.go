//go:build linux

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// UDP is a UDP packet in an Ethernet frame, without VLAN tags and IP options.
type UDP struct {
	SrcMAC, DstMAC net.HardwareAddr
	Src, Dst       netip.AddrPort
	TTL            uint8
	DontFragment   bool
	Payload        []byte
}

// Frame returns the bytes of u with all lengths and checksums right.
func (u UDP) Frame() []byte {
	ip := &layers.IPv4{
		Version: 4, TTL: u.TTL, Protocol: layers.IPProtocolUDP,
		SrcIP: u.Src.Addr().AsSlice(), DstIP: u.Dst.Addr().AsSlice(),
	}
	if u.DontFragment {
		ip.Flags = layers.IPv4DontFragment
	}
	udp := &layers.UDP{SrcPort: layers.UDPPort(u.Src.Port()), DstPort: layers.UDPPort(u.Dst.Port())}
	return serialize(u.SrcMAC, u.DstMAC, ip, udp, u.Payload)
}

// Echo is an ICMP echo request in an Ethernet frame.
type Echo struct {
	SrcMAC, DstMAC net.HardwareAddr
	Src, Dst       netip.Addr
	TTL            uint8
	ID, Sequence   uint16
	Payload        []byte
}

// Frame returns the bytes of e with all lengths and checksums right.
func (e Echo) Frame() []byte {
	ip := &layers.IPv4{
		Version: 4, TTL: e.TTL, Protocol: layers.IPProtocolICMPv4,
		SrcIP: e.Src.AsSlice(), DstIP: e.Dst.AsSlice(),
	}
	icmp := &layers.ICMPv4{
		TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0),
		Id:       e.ID, Seq: e.Sequence,
	}
	return serialize(e.SrcMAC, e.DstMAC, ip, icmp, e.Payload)
}

func serialize(src, dst net.HardwareAddr, ip *layers.IPv4, transport gopacket.SerializableLayer, payload []byte) []byte {
	ether := &layers.Ethernet{SrcMAC: src, DstMAC: dst, EthernetType: layers.EthernetTypeIPv4}
	if udp, ok := transport.(*layers.UDP); ok {
		_ = udp.SetNetworkLayerForChecksum(ip) // fails for no IPv4 layer
	}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	err := gopacket.SerializeLayers(buffer, options, ether, ip, transport, gopacket.Payload(payload))
	if err != nil {
		panic(fmt.Sprintf("probe: frame cannot be built: %v", err)) // a wrong address in a test
	}
	return buffer.Bytes()
}

// Errors of ParseUDP that a test may want to tell apart.
var (
	ErrNotUDP   = errors.New("not a UDP packet in IPv4")
	ErrChecksum = errors.New("checksum is wrong")
)

// ParseUDP reads a frame and recomputes both checksums. Payload and MACs are
// copies.
func ParseUDP(frame []byte) (UDP, error) {
	var (
		ether   layers.Ethernet
		ip      layers.IPv4
		udp     layers.UDP
		payload gopacket.Payload
		decoded []gopacket.LayerType
	)
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &ether, &ip, &udp, &payload)
	if err := parser.DecodeLayers(frame, &decoded); err != nil || len(decoded) < 3 || decoded[2] != layers.LayerTypeUDP {
		return UDP{}, ErrNotUDP
	}
	if sum(ip.Contents, 0) != 0xffff {
		return UDP{}, fmt.Errorf("ip header: %w", ErrChecksum)
	}
	if udp.Checksum != 0 && sum(ip.Payload, pseudoHeader(&ip)) != 0xffff {
		return UDP{}, fmt.Errorf("udp: %w", ErrChecksum)
	}
	src, _ := netip.AddrFromSlice(ip.SrcIP)
	dst, _ := netip.AddrFromSlice(ip.DstIP)
	return UDP{
		SrcMAC: append(net.HardwareAddr(nil), ether.SrcMAC...), DstMAC: append(net.HardwareAddr(nil), ether.DstMAC...),
		Src: netip.AddrPortFrom(src, uint16(udp.SrcPort)), Dst: netip.AddrPortFrom(dst, uint16(udp.DstPort)),
		TTL: ip.TTL, DontFragment: ip.Flags&layers.IPv4DontFragment != 0,
		Payload: append([]byte(nil), udp.Payload...),
	}, nil
}

func pseudoHeader(ip *layers.IPv4) uint32 {
	var header [12]byte
	copy(header[0:], ip.SrcIP)
	copy(header[4:], ip.DstIP)
	header[9] = byte(ip.Protocol)
	binary.BigEndian.PutUint16(header[10:], uint16(len(ip.Payload)))
	return uint32(sum(header[:], 0))
}

// sum is the one's complement sum of RFC 1071; it is 0xffff over data whose
// checksum is right.
func sum(b []byte, start uint32) uint16 {
	s := start
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
