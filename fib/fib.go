// Package fib is the IPv4 forwarding table: a DIR-24-8 longest-prefix match in
// flat memory, with next-hop groups behind it.
//
//	address -> entry -> group -> next hop {action, port, gateway}
//
// The caller hands in two segments of memory, usually shared between two
// processes. The table segment is written by one [Writer] and read by any
// number of [Table]s without locks. The writer segment holds what only a Writer
// needs; it outlives the writer's process, so that the next one can attach.
//
// A table entry has 16 bits: a 15-bit index and a flag. Without the flag the
// index names a group; with it, 256 more entries (an extended group) for the
// prefixes longer than /24. Entry 0 is the default: what no longer prefix covers
// has entry 0, and group 0 mirrors the group of 0.0.0.0/0, so that a default
// route costs one group and not sixteen million entries. An empty group, and
// next hop 0, mean "no route".
//
// Invariants:
//   - The exact-prefix arrays in the writer segment are the truth. A change is
//     stored there first; everything else follows from them, and NewWriter and
//     Audit derive it again. So a writer may be killed between any two stores.
//   - What an entry, a group or a next hop points to is complete before the
//     pointer is stored, and is used for something else only after every reader
//     has passed a quiet point (see [Epochs]).
//   - Readers mask or clamp every index they find: damaged memory gives wrong
//     answers, never a read outside the segment.
//
// Table methods may be called concurrently with each other and with a Writer.
// A Writer is used from one goroutine at a time, and a pair of segments has one
// Writer.
//
// Sources: Gupta, Lin, McKeown, "Routing Lookups in Hardware at Memory Access
// Speeds" (INFOCOM 1998) for DIR-24-8; Thaler, Ravishankar, "Using Name-Based
// Mappings to Increase Hit Rates" (1998) and RFC 2992 for the choice within a
// group; Fraser, "Practical lock-freedom" (2004) for quiet points.
package fib

import "errors"

// Errors of this package, for errors.Is. The capacity errors leave the FIB
// exactly as it was.
var (
	ErrForeign        = errors.New("foreign or damaged FIB segment")
	ErrInvalidPrefix  = errors.New("not an IPv4 prefix")
	ErrInvalidGroup   = errors.New("no such next-hop group")
	ErrInvalidNextHop = errors.New("invalid next hop")
	ErrTooManyMembers = errors.New("too many members for a next-hop group")
	ErrGroupsFull     = errors.New("next-hop group table full")
	ErrNextHopsFull   = errors.New("next-hop table full")
	ErrExtendedFull   = errors.New("extended group table full")
)
