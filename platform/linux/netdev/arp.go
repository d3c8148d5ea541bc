//go:build linux

package netdev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	maxARPFrame = 2048 // bytes read of a frame; ARP over Ethernet has 42, and padding
	minARPFrame = 14 + 28
)

// ARPTap hears the ARP frames that arrive on an interface; the kernel's stack gets
// them, too.
type ARPTap struct {
	file *os.File
	done sync.WaitGroup
}

// TapARP calls heard with every ARP frame that arrives on the interface, from a
// goroutine of its own, until Close. The frame is only lent.
func (n *Namespace) TapARP(index int, heard func(frame []byte)) (*ARPTap, error) {
	fd, err := n.arpSocket(index)
	if err != nil {
		return nil, fmt.Errorf("listen for ARP: %w", err)
	}
	t := &ARPTap{file: os.NewFile(uintptr(fd), "arp")}
	t.done.Go(func() { t.listen(heard) })
	return t, nil
}

func (n *Namespace) arpSocket(index int) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ARP), Ifindex: index})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// networkOrder returns the number whose bytes in memory are v's in network byte order.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

func (t *ARPTap) listen(heard func(frame []byte)) {
	buf := make([]byte, maxARPFrame)
	for {
		n, err := t.file.Read(buf)
		switch {
		case err == nil && isARP(buf[:n]):
			heard(buf[:n])
		case errors.Is(err, fs.ErrClosed):
			return
		case err != nil && !errors.Is(err, unix.ENETDOWN) && !errors.Is(err, unix.EINTR):
			return // the interface has gone
		}
	}
}

// isARP tells whether frame is a whole ARP packet for IPv4 over Ethernet (RFC 826).
func isARP(frame []byte) bool {
	return len(frame) >= minARPFrame &&
		string(frame[12:20]) == "\x08\x06\x00\x01\x08\x00\x06\x04"
}

// Close ends the tap. When it returns, heard is not running and not called again.
func (t *ARPTap) Close() error {
	err := t.file.Close()
	t.done.Wait()
	return err
}
