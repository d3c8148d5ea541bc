// Package loopback is a NIC for benchmarks whose cable leads back into itself: what a
// queue sends is received on the same queue, as the next packet of a stream. It is as
// cheap as a NIC in memory can be, so that what a benchmark measures is the packet loop.
//
// Invariant: the number of frames in flight stays what New put there as long as the user
// sends what it receives. A queue belongs to one goroutine; queues share nothing that
// they write. The machine is little-endian, as amd64 and arm64 are.
package loopback
