package packet_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"routerd/dataplane/packet"
)

var (
	here  = packet.MAC{2, 0, 0, 0, 0, 1}
	there = packet.MAC{2, 0, 0, 0, 0, 2}
)

func serialize(t *testing.T, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestViewsReadWhatGopacketWrites(t *testing.T) {
	ip := &layers.IPv4{Version: 4, TTL: 9, Protocol: layers.IPProtocolUDP, Flags: layers.IPv4DontFragment,
		SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{198, 51, 100, 2}}
	udp := &layers.UDP{SrcPort: 7, DstPort: 9}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	frame := serialize(t, &layers.Ethernet{SrcMAC: there[:], DstMAC: here[:], EthernetType: layers.EthernetTypeIPv4},
		ip, udp, gopacket.Payload("hello"))
	eth, err := packet.ParseEthernet(frame)
	if err != nil || eth.Destination() != here || eth.Source() != there || eth.Type() != packet.TypeIPv4 {
		t.Fatalf("ethernet %v %v %#x: %v", eth.Destination(), eth.Source(), eth.Type(), err)
	}
	p, err := packet.ParseIPv4(append(eth.Payload(), 0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(p) != 20+8+5 || p.TTL() != 9 || !p.DontFragment() || p.IsFragment() || !p.HasPorts() ||
		packet.Addr(p.Source()) != netip.MustParseAddr("192.0.2.1") ||
		p.Destination() != packet.FromAddr(netip.MustParseAddr("198.51.100.2")) {
		t.Errorf("ip: % x", []byte(p))
	}
}

func TestGopacketReadsWhatViewsWrite(t *testing.T) {
	frame := make([]byte, packet.EthernetLen+packet.ARPLen)
	packet.Ethernet(frame).Encode(packet.Broadcast, here, packet.TypeARP)
	packet.ARP(frame[packet.EthernetLen:]).Encode(packet.ARPRequest, here, 0xc0000201, packet.MAC{}, 0xc0000202)
	arp, ok := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeARP).(*layers.ARP)
	if !ok {
		t.Fatal("no ARP in the frame")
	}
	got := []any{arp.Operation, net.HardwareAddr(arp.SourceHwAddress).String(), net.IP(arp.SourceProtAddress).String(), net.IP(arp.DstProtAddress).String()}
	if diff := cmp.Diff([]any{uint16(1), here.String(), "192.0.2.1", "192.0.2.2"}, got); diff != "" {
		t.Error(diff)
	}

	msg := make([]byte, packet.IPv4Len+packet.ICMPLen+4)
	packet.ICMP(msg[packet.IPv4Len:]).Encode(packet.ICMPUnreachable, packet.CodeFragNeeded, 1400)
	packet.IPv4(msg).Encode(packet.IPv4Fields{TTL: 64, Protocol: packet.ProtoICMP, Source: 1 << 24, Destination: 2 << 24})
	icmp, ok := gopacket.NewPacket(msg, layers.LayerTypeIPv4, gopacket.Default).Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
	if !ok || icmp.TypeCode != layers.CreateICMPv4TypeCode(3, 4) || icmp.Seq != 1400 || packet.Sum(msg[20:]) != 0 {
		t.Errorf("icmp: %+v", icmp)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	good := func() []byte { return append(header(1, 64), 0, 0) }
	change := func(at int, v byte) []byte { b := good(); b[at] = v; return b }
	total := header(1, 64)
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"a good header with padding", good(), nil},
		{"19 bytes", good()[:19], packet.ErrShort},
		{"version 6", change(0, 0x65), packet.ErrVersion},
		{"header of 16 bytes", change(0, 0x44), packet.ErrHeaderLength},
		{"header beyond the frame", change(0, 0x46), packet.ErrHeaderLength},
		{"total length below the header", change(3, 19), packet.ErrTotalLength},
		{"total length beyond the frame", change(3, 23), packet.ErrTotalLength},
		{"a flipped bit", change(12, total[12]^1), packet.ErrChecksum},
	} {
		if _, err := packet.ParseIPv4(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func FuzzIPv4(f *testing.F) {
	f.Add([]byte(header(7, 3)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := packet.ParseIPv4(b)
		if err != nil {
			return
		}
		_, _, _, _, _ = p.Options(), p.Payload(), p.HasPorts(), p.FragmentOffset(), p.Destination()
		if p.TTL() > 0 {
			p.DecrementTTL()
			if packet.Sum(p[:p.HeaderLen()]) != 0 {
				t.Errorf("checksum is wrong after the TTL: % x", []byte(p))
			}
		}
		if m, err := packet.ParseICMP(p.Payload()); err == nil {
			_, _, _ = m.IsError(), m.MTU(), m.Payload()
		}
	})
}

func FuzzARP(f *testing.F) {
	b := make([]byte, packet.ARPLen)
	packet.ARP(b).Encode(packet.ARPReply, here, 1, there, 2)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := packet.ParseARP(b)
		if err != nil {
			return
		}
		again := make(packet.ARP, packet.ARPLen)
		again.Encode(a.Op(), a.SenderMAC(), a.SenderIP(), a.TargetMAC(), a.TargetIP())
		if diff := cmp.Diff([]byte(a), []byte(again)); diff != "" {
			t.Error(diff)
		}
	})
}
