// Package nmring is the one shape that every port shows to the packet loop:
// netmap's memory layout (netmap(4), FreeBSD sys/net/netmap.h, API 14). A Region
// holds packet buffers of one size; a Ring is a circular array of slots that name
// buffers by number; a Port has a receive and a transmit ring for each queue.
//
// On FreeBSD the rings are the kernel's own memory. Every other driver fills rings
// of the same layout, to the byte, from its own descriptors, so the packet loop is
// one piece of code and a driver is asked once for each batch, never for a packet.
//
// Invariants: the slots from head up to tail belong to the user, the others to the
// driver; an empty ring has head equal to tail, so a ring of n slots carries at most
// n-1 frames. Every slot names a buffer at all times, and no buffer is named twice.
//
// A ring belongs to one goroutine at a time (Acquire and Release say so); the receive
// and the transmit ring of a queue may have different owners. A Region may be used by
// any number of goroutines.
package nmring

import (
	"net/netip"
)

// Port is a network interface as rings. The sync methods are called by the owner of
// the ring alone; the other methods may be called from any goroutine.
type Port interface {
	// Queues is the number of receive and transmit ring pairs; it never changes.
	Queues() int
	// RX and TX give the rings of queue q, 0 <= q < Queues().
	RX(q int) *Ring
	TX(q int) *Ring

	// RxSync gives the slots before head back to the driver and makes frames that
	// have arrived visible by moving tail. It does not block. An error means that
	// the port is gone (ErrGone) or that this call did nothing; the ring stays valid.
	RxSync(q int) error
	// TxSync hands the slots before head to the driver and takes back the slots of
	// frames that have left by moving tail. It does not block.
	TxSync(q int) error

	// PollFD is the descriptor that polls readable when frames wait in the receive
	// ring of queue q, or -1 where there is none and the owner has to spin.
	PollFD(q int) int

	// Configure makes the port and its host side match s. It may be called again at
	// any time, and changes only what differs from the call before.
	Configure(s Settings) error
	// Info describes the port as it is now.
	Info() Info
	// Counters are the driver's own counters of queue q, by stable names.
	Counters(q int) []Counter
	// Host is the way to the kernel's stack where that leads through us, and nil
	// where the kernel still owns the interface.
	Host() Host

	// Close gives the interface back to the kernel as it was and frees every buffer.
	// No ring may be in use.
	Close() error
}

// Host sends frames to the kernel's stack.
type Host interface {
	// Deliver passes a copy of an Ethernet frame up; it reports false when the
	// stack's queue was full. It does not block.
	Deliver(frame []byte) bool
}

// Settings is what a port is to be. The zero MTU leaves the system's.
type Settings struct {
	MTU       int            // bytes of IP packet
	Addresses []netip.Prefix // this port's addresses with the lengths of their subnets
	Local     []netip.Addr   // every address that the host stack answers for, of all ports, with the broadcast addresses of their subnets
}

// Info describes a port.
type Info struct {
	Driver    string  // "afxdp", "pipe", …
	Mode      string  // how frames reach the ring: "zero copy", "copy", "native", "memory", …
	Device    string  // the system's name for it
	MAC       [6]byte //
	MTU       int     // bytes of IP packet
	SpeedMbps int     // 0: unknown
	Up        bool    // administratively up and carrier present
	Gone      bool    // the device does not exist any more: only Close is left to do
	KernelARP bool    // the kernel answers ARP for the port's addresses
	Notes     []string
}

// Counter is a driver's counter.
type Counter struct {
	Name  string
	Value uint64
}

// Events are what a driver tells besides frames in rings. The functions may be called
// from a goroutine of the driver at any time between open and the return of Close, must
// not block, and may not keep the frame after they return. A nil function is not called.
type Events struct {
	// Overheard gets a copy of a frame that the driver passed to the kernel's stack
	// and that forwarding has to see, too: ARP, where the kernel owns the interface.
	Overheard func(frame []byte)
	// FromHost gets a frame that the kernel's stack sends by a port with a Host.
	FromHost func(frame []byte)
	// Link is called when Info().Up or Info().MAC has changed.
	Link func(up bool)
}
