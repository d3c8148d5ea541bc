//go:build linux

package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func wouldBlock(err error) bool { return errors.Is(err, syscall.EAGAIN) }

// noBuffers tells a full device, where the packet is to be sent again, from errors.
func noBuffers(err error) bool { return errors.Is(err, syscall.ENOBUFS) }

// Reply is one answer to a ping or a UDP echo request.
type Reply struct {
	From netip.Addr
	TTL  uint8 // as it arrived
}

// Ping sends count ICMP echo requests one after the other through the kernel of a
// namespace and returns the replies. It fails at the first one that stays out for
// longer than wait, and at an ICMP error about dst.
func Ping(s Space, src, dst netip.Addr, count int, wait time.Duration) (replies []Reply, err error) {
	var conn *net.IPConn
	err = s.Do(func() (err error) {
		conn, err = net.ListenIP("ip4:icmp", &net.IPAddr{IP: src.AsSlice()})
		return err
	})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	id := uint16(rand.Uint32())
	for sequence := range uint16(count) {
		if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
			return replies, err
		}
		_, err := conn.WriteToIP(echoRequest(id, sequence), &net.IPAddr{IP: dst.AsSlice()})
		if err != nil {
			return replies, fmt.Errorf("ping %s from %s: %w", dst, src, err)
		}
		reply, err := awaitReply(conn, dst, id, sequence)
		if err != nil {
			return replies, fmt.Errorf("ping %s from %s: request %d of %d: %w", dst, src, sequence+1, count, err)
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

func echoRequest(id, sequence uint16) []byte {
	buffer := gopacket.NewSerializeBuffer()
	icmp := &layers.ICMPv4{
		TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0),
		Id:       id, Seq: sequence,
	}
	_ = gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{ComputeChecksums: true}, icmp, gopacket.Payload("routerd probe"))
	return buffer.Bytes()
}

// awaitReply reads ICMP, which comes with its IP header, until the reply is there.
func awaitReply(conn *net.IPConn, dst netip.Addr, id, sequence uint16) (Reply, error) {
	buffer := make([]byte, 2048)
	for {
		n, _, _, _, err := conn.ReadMsgIP(buffer, nil)
		if err != nil {
			return Reply{}, err
		}
		packet := gopacket.NewPacket(buffer[:n], layers.LayerTypeIPv4, gopacket.Default)
		ip, okIP := packet.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		icmp, okICMP := packet.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		if !okIP || !okICMP {
			continue
		}
		from, _ := netip.AddrFromSlice(ip.SrcIP)
		switch icmp.TypeCode.Type() {
		case layers.ICMPv4TypeEchoReply:
			if icmp.Id == id && icmp.Seq == sequence && from == dst {
				return Reply{From: from, TTL: ip.TTL}, nil
			}
		case layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4TypeTimeExceeded:
			if quoted := icmp.Payload; len(quoted) >= ipLen && [4]byte(quoted[16:20]) == dst.As4() {
				return Reply{}, fmt.Errorf("%s answers %s", from, icmp.TypeCode)
			}
		}
	}
}

// EchoServer answers UDP datagrams to addr in a namespace with themselves until it
// is closed.
func EchoServer(s Space, addr netip.AddrPort) (*net.UDPConn, error) {
	conn, err := listenUDP(s, addr)
	if err != nil {
		return nil, err
	}
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(buffer[:n], from) // no answer is what the asker sees
		}
	}()
	return conn, nil
}

// Exchange sends count different datagrams one after the other from src to an echo
// server and checks that each comes back unchanged within wait.
func Exchange(s Space, src netip.Addr, dst netip.AddrPort, count int, wait time.Duration) (replies []Reply, err error) {
	conn, err := listenUDP(s, netip.AddrPortFrom(src, 0))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := receiveTTL(conn); err != nil {
		return nil, err
	}
	buffer, control := make([]byte, 2048), make([]byte, 128)
	for i := range count {
		question := fmt.Appendf(nil, "routerd probe %d of %d", i+1, count)
		if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
			return replies, err
		}
		if _, err := conn.WriteToUDPAddrPort(question, dst); err != nil {
			return replies, fmt.Errorf("udp to %s from %s: %w", dst, src, err)
		}
		n, cn, _, from, err := conn.ReadMsgUDPAddrPort(buffer, control)
		if err != nil {
			return replies, fmt.Errorf("udp to %s from %s: datagram %d of %d does not come back: %w", dst, src, i+1, count, err)
		}
		if from != dst || string(buffer[:n]) != string(question) {
			return replies, fmt.Errorf("udp to %s from %s: %q came back from %s for %q", dst, src, buffer[:n], from, question)
		}
		ttl, err := arrivedTTL(control[:cn])
		if err != nil {
			return replies, err
		}
		replies = append(replies, Reply{From: from.Addr(), TTL: ttl})
	}
	return replies, nil
}

func listenUDP(s Space, addr netip.AddrPort) (conn *net.UDPConn, err error) {
	err = s.Do(func() (err error) {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(addr))
		return err
	})
	return conn, err
}

func receiveTTL(conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		inner = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_RECVTTL, 1)
	})
	return errors.Join(err, inner)
}

func arrivedTTL(control []byte) (uint8, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		if m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_TTL && len(m.Data) >= 4 {
			return m.Data[0] | m.Data[3], nil // an int of either byte order that fits a byte
		}
	}
	return 0, errors.New("the kernel gave no TTL with the datagram")
}
