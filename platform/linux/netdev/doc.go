// Package netdev borrows network interfaces from the Linux kernel: it sets their flags,
// MTU, addresses and channels, watches them, and gives them back as they were.
//
// Invariant: what a Loan changes is first written into a journal, one file for each
// interface, so that the original state survives a crash of the process. The next Loan
// of the interface takes the journal over and never mistakes our leftovers for the
// original.
//
// A Namespace and its methods may be used by any goroutine; it stays with the network
// namespace of the thread that opened it. A Loan belongs to one goroutine at a time.
//
// Sources: rtnetlink(7), netdevice(7), linux/ethtool.h, packet(7).
package netdev
