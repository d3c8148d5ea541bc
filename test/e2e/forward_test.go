//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

const (
	far       = "203.0.113.0/24"
	replyWait = 5 * time.Second
)

func TestForwardsOnRoutesOfGoBGP(t *testing.T) {
	w := start(t, 1, time.Minute)
	speaker := w.speak(0, far)
	_, err := speaker.AwaitLine(w.ctx, "^learned 192.0.2.0/27 via 198.51.100.2 as-path 64500$")
	w.try(err)
	w.bothWays()
	w.exactFrames()
}

func TestForwardsOnRoutesOfBIRD(t *testing.T) {
	w := start(t, 1, time.Minute, "bird", "birdc")
	bird := w.bird(0, "route "+far+" blackhole;", "")
	w.try(w.router.AwaitRoute(w.ctx, far, w.Upstreams[0].Address))
	w.try(lab.Await(w.ctx, "BIRD to learn our LAN", func() error {
		out, err := bird.Query("show route for 192.0.2.10")
		if err == nil && !strings.Contains(out, "192.0.2.0/27") {
			err = fmt.Errorf("BIRD has %s", out)
		}
		return err
	}))
	w.bothWays()
	_, err := bird.Query("disable announced")
	w.try(err, w.router.AwaitNoRoute(w.ctx, far))
}

// bird runs BIRD as an upstream that announces static routes.
func (w *world) bird(upstream int, routes, export string) *lab.BIRD {
	w.t.Helper()
	u := w.Upstreams[upstream]
	bird, err := u.StartBIRD(w.ctx, "bird-"+u.Port, fmt.Sprintf(`
		router id %s;
		log stderr all;
		protocol device {}
		protocol static announced { ipv4; %s }
		protocol bgp edge {
			local %s as %d;
			neighbor %s as %d;
			connect delay time 1;
			error wait time 1, 2;
			ipv4 { import all; export filter { if source != RTS_STATIC then reject; %s accept; }; };
		}`, u.Address, routes, u.Address, u.AS, u.Router, edge.RouterAS, export))
	w.try(err, w.router.AwaitSession(w.ctx, u.Address))
	return bird
}

// bothWays moves ping and UDP from the LAN to an address of far and back.
func (w *world) bothWays() {
	w.t.Helper()
	u := w.Upstreams[0]
	there := netip.MustParsePrefix(far).Addr().Next()
	w.try(u.Hold(there))
	for _, way := range []struct {
		name     string
		from, to probe.Space
		src, dst netip.Addr
	}{
		{"out", w.LAN, u, edge.LANHost, there},
		{"in", u, w.LAN, there, edge.LANHost},
	} {
		replies, err := probe.Ping(way.from, way.src, way.dst, 10, replyWait)
		w.try(err)
		server, err := probe.EchoServer(way.to, netip.AddrPortFrom(way.dst, 7))
		w.try(err)
		datagrams, err := probe.Exchange(way.from, way.src, netip.AddrPortFrom(way.dst, 7), 10, replyWait)
		w.try(err, server.Close())
		for _, r := range append(replies, datagrams...) {
			if r.TTL != 63 {
				w.t.Errorf("%s: reply with TTL %d, want 63", way.name, r.TTL)
			}
		}
	}
}

// exactFrames sends frames of every length class and compares what leaves the
// router byte for byte with what RFC 1812 makes of them.
func (w *world) exactFrames() {
	w.t.Helper()
	u := w.Upstreams[0]
	out, in := w.port(w.LAN), w.port(u)
	lan, err := w.Router.MAC("lan0")
	w.try(err)
	up, err := w.Router.MAC(u.Port)
	w.try(err)
	for i, length := range []int{0, 1, 17, 18, 512, 1471, 1472} {
		sent := probe.UDP{
			SrcMAC: out.MAC, DstMAC: lan, TTL: uint8(255 - i), DontFragment: true,
			Src: netip.AddrPortFrom(edge.LANHost, 5000), Dst: netip.AddrPortFrom(netip.MustParseAddr("203.0.113.77"), uint16(6000+i)),
			Payload: []byte(strings.Repeat("x", length)),
		}
		w.try(out.Send(sent.Frame()))
		got, err := in.ReceiveUDP(w.ctx, func(got probe.UDP) bool { return got.Dst == sent.Dst })
		w.try(err)
		want := sent
		want.SrcMAC, want.DstMAC, want.TTL = up, in.MAC, sent.TTL-1
		if !slices.Equal(got.SrcMAC, want.SrcMAC) || !slices.Equal(got.DstMAC, want.DstMAC) || got.TTL != want.TTL ||
			got.Src != want.Src || got.DontFragment != want.DontFragment || string(got.Payload) != string(want.Payload) {
			w.t.Errorf("payload of %d bytes:\ngot  %+v\nwant %+v", length, got, want)
		}
	}
}

// The upstream's kernel puts together what the router had to cut for its port.
func TestKernelReassemblesOurFragments(t *testing.T) {
	w := lay(t, 1, time.Minute)
	narrow := strings.Replace(w.Config(w.router.Socket, ""), `"xdp:up0"`, `"xdp:up0"`+"\n  mtu = 1000", 1)
	w.try(w.router.WriteConfig(narrow), w.router.Start(w.ctx))
	w.speak(0, far)
	there := netip.AddrPortFrom(netip.MustParsePrefix(far).Addr().Next(), 7)
	w.try(w.Upstreams[0].Hold(there.Addr()), w.Upstreams[0].IP("link", "set", "eth0", "mtu", "1000"))
	echo, err := probe.EchoServer(w.Upstreams[0], there)
	w.try(err)
	defer echo.Close()
	w.try(w.LAN.Sysctl("net.ipv4.ip_no_pmtu_disc", "1")) // don't fragment is clear
	seen := w.port(w.Upstreams[0])
	var conn net.Conn
	w.try(w.LAN.Do(func() (err error) {
		conn, err = net.Dial("udp4", there.String())
		return err
	}))
	defer conn.Close()
	sent, got := make([]byte, 1400), make([]byte, 2000)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	_, err = conn.Write(sent)
	w.try(err, conn.SetReadDeadline(time.Now().Add(replyWait)))
	n, err := conn.Read(got)
	w.try(err)
	if !bytes.Equal(got[:n], sent) {
		t.Errorf("%d bytes came back, not the %d that were sent", n, len(sent))
	}
	for fragments := 0; fragments < 2; { // what the kernel got were fragments
		frame, err := seen.Receive(w.ctx)
		w.try(err)
		ip, ok := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		if ok && ip.DstIP.String() == there.Addr().String() {
			if fragments++; ip.Length > 1000 || ip.TTL != 63 {
				t.Errorf("fragment of %d bytes with TTL %d", ip.Length, ip.TTL)
			}
		}
	}
}

func TestAnswersWithICMPErrors(t *testing.T) {
	w := start(t, 1, time.Minute)
	w.speak(0, far)
	gateway, err := w.Router.MAC("lan0")
	w.try(err)
	for _, c := range []struct {
		name string
		dst  string
		ttl  uint8
		want uint8
	}{
		{"ttl 1 in transit", "203.0.113.9", 1, layers.ICMPv4TypeTimeExceeded},
		{"no route", "100.64.0.1", 64, layers.ICMPv4TypeDestinationUnreachable},
	} {
		host := w.port(w.LAN)
		sent := probe.UDP{
			SrcMAC: host.MAC, DstMAC: gateway, TTL: c.ttl, Payload: []byte(c.name),
			Src: netip.AddrPortFrom(edge.LANHost, 5000), Dst: netip.AddrPortFrom(netip.MustParseAddr(c.dst), 33434),
		}.Frame()
		w.try(host.Send(sent))
		ip, icmp := w.receiveICMP(host, c.want)
		if ip.SrcIP.String() != edge.LANGateway.String() || ip.DstIP.String() != edge.LANHost.String() {
			t.Errorf("%s: error from %s to %s", c.name, ip.SrcIP, ip.DstIP)
		}
		const quoted = 28 // IP header and eight bytes
		if len(icmp.Payload) < quoted || string(icmp.Payload[12:quoted]) != string(sent[14+12:14+quoted]) {
			t.Errorf("%s: quotes % x, want the packet sent", c.name, icmp.Payload)
		}
	}
}

// receiveICMP returns the next ICMP packet of a type.
func (w *world) receiveICMP(p *probe.Port, kind uint8) (*layers.IPv4, *layers.ICMPv4) {
	w.t.Helper()
	for {
		frame, err := p.Receive(w.ctx)
		w.try(err)
		packet := gopacket.NewPacket(slices.Clone(frame), layers.LayerTypeEthernet, gopacket.NoCopy)
		icmp, ok := packet.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		if ok && icmp.TypeCode.Type() == kind {
			return packet.NetworkLayer().(*layers.IPv4), icmp
		}
	}
}
