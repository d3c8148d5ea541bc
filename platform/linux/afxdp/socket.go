//go:build linux

package afxdp

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"

	"routerd/nmring"
)

const (
	needWakeup   = unix.XDP_RING_NEED_WAKEUP
	bindPatience = 2 * time.Second // for the kernel to clear a dead process's socket away
)

// socket is an AF_XDP socket on one queue of an interface.
type socket struct {
	fd       int
	mapped   [][]byte
	fill     sender[uint64]
	arrived  taker[unix.XDPDesc]
	queued   sender[unix.XDPDesc]
	done     taker[uint64]
	zeroCopy bool
}

// newSocket makes a socket with rings of at least slots entries. It registers u unless
// it will share the registration of another socket.
func newSocket(u *umem, slots int, share bool) (*socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, errors.New("this kernel has no AF_XDP: Linux 5.10 or later with CONFIG_XDP_SOCKETS is needed")
	}
	if errors.Is(err, unix.EPERM) {
		return nil, needsRoot(err)
	}
	if err != nil {
		return nil, fmt.Errorf("AF_XDP socket: %w", err)
	}
	s := &socket{fd: fd}
	if !share {
		err = registerUMEM(fd, u)
		if errors.Is(err, unix.ENOBUFS) {
			err = fmt.Errorf("%w: raise the limit of locked memory (ulimit -l) above %d KiB", err, u.size>>10)
		}
	}
	if err == nil {
		err = s.makeRings(1 << bits.Len(uint(slots-1)))
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("AF_XDP socket: %w", err)
	}
	return s, nil
}

func (s *socket) makeRings(entries int) error {
	for _, ring := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, ring, entries); err != nil {
			return fmt.Errorf("ring of %d entries: %w", entries, err)
		}
	}
	if err := s.mapRings(entries); err != nil {
		return fmt.Errorf("map rings: %w", err)
	}
	// In copy mode the kernel sends 32 frames a call, and counts frames in flight
	// against the send buffer. Kernels that do not know the first are called again.
	_ = unix.SetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, entries)
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, entries*4096)
	return nil
}

// bind ties the socket to a queue: zero copy where the driver has it, copy otherwise.
// With share it uses the registration, and with it the mode, of that socket.
func (s *socket) bind(ifindex, queue int, share *socket) error {
	to := &unix.SockaddrXDP{Flags: unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(ifindex), QueueID: uint32(queue)}
	if share != nil {
		to.Flags, to.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(share.fd)
	}
	err := s.bindPatiently(to)
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("queue %d is in use by another AF_XDP socket: stop the program that has it (ss --xdp -p shows it)", queue)
	case err != nil:
		return fmt.Errorf("bind queue %d: %w", queue, err)
	}
	options, err := unix.GetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_OPTIONS)
	s.zeroCopy = err == nil && options&unix.XDP_OPTIONS_ZEROCOPY != 0
	return nil
}

// bindPatiently binds, and tries again for a while where the queue is busy: the kernel
// clears a closed socket away some time after its close.
func (s *socket) bindPatiently(to *unix.SockaddrXDP) error {
	err := unix.Bind(s.fd, to)
	for deadline := time.Now().Add(bindPatience); errors.Is(err, unix.EBUSY) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
		err = unix.Bind(s.fd, to)
	}
	return err
}

// awaitRelease waits until the driver has let go of the buffers of a zero-copy socket of
// this queue, which the kernel sees to some time after its close. Another socket can be
// bound from then on. It reports false when that does not happen.
func awaitRelease(u *umem, ifindex, queue int) bool {
	probe, err := newSocket(u, nmring.MinSlots, false)
	if err != nil {
		return false
	}
	defer probe.close()
	err = probe.bindPatiently(&unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(ifindex), QueueID: uint32(queue)})
	return !errors.Is(err, unix.EBUSY)
}

// send makes the kernel look at the transmit ring, receive at the fill ring.
func (s *socket) send() error {
	if _, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func (s *socket) receive() error {
	_, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case unix.ENXIO, unix.ENODEV, unix.EBADF:
		return fmt.Errorf("%w: %w", nmring.ErrGone, errno)
	}
	return nil // anything else passes, and the next sync asks again
}

// close frees the queue. In copy mode the kernel does not touch the buffers afterwards;
// a driver that reads and writes them itself does until awaitRelease returns.
func (s *socket) close() error {
	err := unix.Close(s.fd)
	for _, m := range s.mapped {
		err = errors.Join(err, unix.Munmap(m))
	}
	s.mapped = nil
	return err
}
