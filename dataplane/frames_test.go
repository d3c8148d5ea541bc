package dataplane_test

import (
	"net"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"routerd/dataplane/packet"
)

// udp describes a packet of the tests; build makes the frame that arrives at w.
type udp struct {
	src, dst string
	ttl      uint8
	sport    uint16
	size     int // bytes of payload
	df       bool
	mark     byte // first byte of the payload
	options  []layers.IPv4Option
	change   func(frame []byte) []byte
}

func (w *wire) build(u udp) []byte {
	w.r.t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: u.ttl, Protocol: layers.IPProtocolUDP, Options: u.options,
		SrcIP: net.ParseIP(u.src), DstIP: net.ParseIP(u.dst)}
	if u.ttl == 0 {
		ip.TTL = 64
	}
	if u.df {
		ip.Flags = layers.IPv4DontFragment
	}
	transport := &layers.UDP{SrcPort: layers.UDPPort(1000 + u.sport), DstPort: 9}
	if err := transport.SetNetworkLayerForChecksum(ip); err != nil {
		w.r.t.Fatal(err)
	}
	payload := make([]byte, max(u.size, 1))
	payload[0] = u.mark
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: w.far[:], DstMAC: w.mac[:], EthernetType: layers.EthernetTypeIPv4},
		ip, transport, gopacket.Payload(payload))
	if err != nil {
		w.r.t.Fatal(err)
	}
	frame := buf.Bytes()
	for len(frame) < 60 {
		frame = append(frame, 0)
	}
	if u.change != nil {
		frame = u.change(frame)
	}
	return frame
}

// send puts packets on queue 0 of the wire.
func (w *wire) send(packets ...udp) {
	w.r.t.Helper()
	for _, u := range packets {
		w.Send(0, w.build(u))
	}
}

// seen is what the tests compare of a packet that left.
type seen struct {
	Dst, Src packet.MAC
	To       string
	TTL      uint8
	Mark     byte
}

// see reads a frame that left, and checks its checksums.
func see(t testing.TB, frame []byte) seen {
	t.Helper()
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	eth, _ := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if eth == nil || ip == nil {
		t.Fatalf("not an IPv4 frame: % x", frame)
	}
	if packet.Sum(ip.Contents) != 0 {
		t.Errorf("wrong header checksum: % x", ip.Contents)
	}
	s := seen{Dst: packet.MAC(eth.DstMAC), Src: packet.MAC(eth.SrcMAC), To: ip.DstIP.String(), TTL: ip.TTL}
	if u, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP); ok {
		s.Mark = u.Payload[0]
	}
	return s
}

func seeAll(t testing.TB, frames [][]byte) []seen {
	t.Helper()
	var all []seen
	for _, f := range frames {
		all = append(all, see(t, f))
	}
	return all
}
