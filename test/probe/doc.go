// Package probe sends packets into a lab's networks and judges what comes out:
// frames built byte by byte on packet sockets, floods with a number in every
// packet, and plain ping and UDP echo on the kernel's sockets.
//
// Invariant: a received frame counts as right only after its IPv4 header checksum
// and its UDP checksum were recomputed here. A packet the packet socket itself
// dropped is never taken for one that the router lost: Port.Drops tells them apart.
//
// A Port may have one sender and one receiver at a time; everything else is for one
// goroutine. Sources: packet(7), RFC 791, RFC 768, RFC 1071. Linux only.
package probe
