// Command loop measures the packet loop of the forwarding process without NICs: four
// ports of 1,024-slot rings, each looped back on itself, with 960 packets in flight on
// one thread. It runs the product's own Worker with the real table of 901,899 prefixes
// over 64 next hops by hash, and refreshes destination, TTL and checksum of each packet
// as it is received, so that forwarding cost does not depend on what packets were before.
//
//	go run ./test/bench/loop -stream FILE|rnd|pfx|zipf|few -mode forward|base -batch N -ports 4 -seconds S
//	go run ./test/bench/loop -workers 2        two workers on two CPUs, beside one
//	go run ./test/bench/loop -gap              gaps between rounds beside a busy control process
//
// base receives, refreshes and sends without forwarding; forward prints both, measured in
// turns. Time is the thread's CPU time. Before a number is printed, a pass over the
// stream has compared each packet that left with what bart says of its destination: port,
// MAC addresses, TTL and checksum; afterwards nothing may have been dropped.
//
// A FILE holds addresses as little-endian 32-bit integers, first octet most significant.
// Addresses that no router forwards to (0/8, 127/8, 169.254/16, 224/3) are left out of a
// stream: their packets would leave the loop.
package main
