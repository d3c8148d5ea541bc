//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// Space is a network namespace: Do calls f inside it.
type Space interface{ Do(f func() error) error }

// Port is a packet socket on one interface. It sees what arrives there, not what
// is sent.
type Port struct {
	MAC    net.HardwareAddr
	file   *os.File
	buffer []byte
}

const (
	packetStatistics     = 6  // PACKET_STATISTICS, packet(7)
	packetQdiscBypass    = 20 // PACKET_QDISC_BYPASS
	packetIgnoreOutgoing = 23 // PACKET_IGNORE_OUTGOING
	receiveBuffer        = 64 << 20
)

// Open opens a port on an interface of a namespace.
func Open(s Space, ifname string) (p *Port, err error) {
	err = s.Do(func() error {
		p, err = open(ifname)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packet socket on %s: %w", ifname, err)
	}
	return p, nil
}

func open(ifname string) (*Port, error) {
	link, err := net.InterfaceByName(ifname)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	all := uint16(syscall.ETH_P_ALL)<<8 | syscall.ETH_P_ALL>>8 // network byte order
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, receiveBuffer),
		syscall.SetsockoptInt(fd, syscall.SOL_PACKET, packetIgnoreOutgoing, 1),
		syscall.SetsockoptInt(fd, syscall.SOL_PACKET, packetQdiscBypass, 1),
		syscall.Bind(fd, &syscall.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}),
	)
	if err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return &Port{
		MAC:    link.HardwareAddr,
		file:   os.NewFile(uintptr(fd), "packet:"+ifname),
		buffer: make([]byte, 1<<16),
	}, nil
}

// Close closes the port; a Receive in progress returns an error.
func (p *Port) Close() error { return p.file.Close() }

// Send sends one whole Ethernet frame.
func (p *Port) Send(frame []byte) error {
	_, err := p.file.Write(frame)
	return err
}

// Receive returns the next frame, valid until the next call.
func (p *Port) Receive(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			_ = p.file.SetReadDeadline(time.Time{})
		}
	}()
	n, err := p.file.Read(p.buffer)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return p.buffer[:max(n, 0)], err
}

// ReceiveUDP returns the next frame that is a sound UDP packet for which match
// holds. Others are passed over.
func (p *Port) ReceiveUDP(ctx context.Context, match func(UDP) bool) (UDP, error) {
	for {
		frame, err := p.Receive(ctx)
		if err != nil {
			return UDP{}, err
		}
		if u, err := ParseUDP(frame); err == nil && match(u) {
			return u, nil
		}
	}
}

// Drops returns how many frames the socket itself has dropped since the last call
// because its buffer was full.
func (p *Port) Drops() (drops uint32, err error) {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { drops, inner = packetDrops(int(fd)) })
	return drops, errors.Join(err, inner)
}
