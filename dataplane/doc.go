// Package dataplane forwards packets between ports: it is the forwarding process without
// the operating system.
//
//	rings -> Worker (three passes over a batch) -> rings
//	           | punts                  ^ injected frames
//	           v                        |
//	         slow path: ARP and neighbours, ICMP errors, host path
//
// A Worker is one thread. It reads the FIB and the adjacencies without locks, rewrites a
// packet and swaps its buffer into a transmit ring. What needs more than that leaves
// through a bounded ring of frame copies, with its cause; the slow path, one goroutine,
// takes it from there. Workers never wait for the slow path.
//
// Invariants:
//   - A frame that a worker took from a ring is afterwards counted as sent, as punted
//     under one cause, or as dropped under one reason; a frame that the slow path took is
//     forwarded, consumed, held for a neighbour, or dropped under one reason. See
//     Counters.Balance.
//   - A ring belongs to one worker. Only a transmit ring of a port with fewer queues than
//     there are workers is shared, under a lock taken once for a batch.
//   - Counters and adjacencies have one writer each: a worker its row, the slow path its
//     own row and all adjacencies. Readers in other processes need no lock.
//   - A port's rings are closed only after every worker has passed a quiet point without
//     that port (RemovePort).
//
// Dataplane's methods and a State's readers may be called from any goroutine. A Worker's
// Round belongs to its goroutine; Run starts one for each.
//
// Sources: RFC 1812 (requirements for routers), RFC 826 (ARP), RFC 4861 (the neighbour
// states, used here with ARP), RFC 792 and RFC 1191 (ICMP), RFC 1624 (checksum).
// The machine is little-endian, as amd64 and arm64 are.
package dataplane
