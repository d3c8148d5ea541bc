//go:build linux

package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetDrops reads and resets tp_drops of struct tpacket_stats.
func packetDrops(fd int) (uint32, error) {
	var stats struct{ packets, drops uint32 }
	size := uint32(unsafe.Sizeof(stats))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_PACKET, packetStatistics,
		uintptr(unsafe.Pointer(&stats)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	return stats.drops, nil
}

// messages is the argument of sendmmsg(2): one single-part message for each frame.
type messages struct {
	headers []mmsghdr
	parts   []unix.Iovec
}

type mmsghdr struct {
	msghdr unix.Msghdr
	sent   uint32
	_      [4]byte
}

// newMessages refers to the frames, which the caller may go on changing in place.
func newMessages(frames [][]byte) *messages {
	m := &messages{headers: make([]mmsghdr, len(frames)), parts: make([]unix.Iovec, len(frames))}
	for i, frame := range frames {
		m.parts[i].Base = &frame[0]
		m.parts[i].SetLen(len(frame))
		m.headers[i].msghdr.Iov = &m.parts[i]
		m.headers[i].msghdr.SetIovlen(1)
	}
	return m
}

// send sends frames i to j-1 and returns how many the kernel took.
func (m *messages) send(fd, i, j int) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.headers[i])), uintptr(j-i), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
