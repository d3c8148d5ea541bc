// Package afxdp drives ports of Linux network interfaces through AF_XDP sockets.
//
// All ports share one region of packet buffers: buffer i is the UMEM chunk at address
// i times the stride, so a frame goes from one port to another by its number alone. Each
// port registers the region with the kernel by itself, and its queues share that
// registration: the kernel hands zero copy or copy mode, and the life of the socket that
// registered, down to every socket that shares, and ports must be free to differ in the
// one and to come and go in the other.
//
// An XDP program on the interface sends IPv4 frames for the port's MAC address to the
// socket of their queue, unless they are for an address of the host; everything else
// goes up to the kernel's stack. The program is held by a descriptor of this process
// alone: when the process ends, however it ends, the interface is the kernel's again.
//
// Invariant: every buffer of a port's rings is either named by a slot that the kernel
// does not have, or stands in the ledger of the socket ring that the kernel took it by,
// and never in two places. Descriptors from the kernel are checked against the ledger
// before anything is indexed by them.
//
// A Driver may be used by any goroutine, a Port as nmring.Port says.
//
// Sources: Documentation/networking/af_xdp.rst, linux/if_xdp.h, bpf-helpers(7).
package afxdp
