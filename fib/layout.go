package fib

import (
	"fmt"
	"hash/fnv"
)

// Capacities. Index 0 of groups and of next hops is taken: it means "default"
// and "no route".
const (
	MaxGroups   = 1 << 15
	MaxNextHops = 1 << 15
	MaxMembers  = 16 // next hops in one group
)

const (
	slots       = 1 << 24 // one per /24
	maxExtended = 1 << 15 // extended groups; index 0 stays unused

	extendedBit = 1 << 15
	indexMask   = 1<<15 - 1

	// A group is eight 64-bit words, one cache line: sixteen-bit fields, count
	// first, then the members; the last word tells whether the group is in use.
	groupWords    = 8
	memberWords   = (1 + MaxMembers + 3) / 4
	groupUsedWord = groupWords - 1

	nextHopWords = 2 // the definition, and one in reserve
)

type (
	entryArray    [slots]uint16
	extendedArray [maxExtended * 256]uint16
	groupArray    [MaxGroups][groupWords]uint64
	nextHopArray  [MaxNextHops][nextHopWords]uint64

	ownerArray         [maxExtended]uint32      // slot+1 of an extended group, 0 free, ownerRetired
	depthArray         [slots]uint8             // length of the prefix up to /24 behind a slot
	exactArray         [2 * slots]uint16        // group of prefix 1<<length | bits, lengths 0..24
	extendedDepthArray [maxExtended][256]uint8  // the same for extended groups,
	extendedExactArray [maxExtended][512]uint16 // 1<<(length-24) | bits, lengths 25..32
)

// Where things stand. The big arrays begin on huge-page borders.
const (
	hugePage = 2 << 20

	tableNextHopsAt = 1 << 20
	tableEntriesAt  = hugePage
	tableExtendedAt = tableEntriesAt + slots*2
	tableGroupsAt   = tableExtendedAt + maxExtended*256*2
	tableSize       = tableGroupsAt + MaxGroups*groupWords*8

	writerOwnersAt        = 1 << 20
	writerDepthsAt        = hugePage
	writerExactAt         = writerDepthsAt + slots
	writerExtendedDepthAt = writerExactAt + 2*slots*2
	writerExtendedExactAt = writerExtendedDepthAt + maxExtended*256
	writerSize            = writerExtendedExactAt + maxExtended*512*2
)

// TableSize returns the size of a table segment in bytes, a multiple of 2 MiB.
func TableSize() int { return tableSize }

// WriterSize returns the size of a writer segment in bytes, a multiple of 2 MiB.
func WriterSize() int { return writerSize }

// layout changes whenever two builds would not understand each other's segments.
var layout = func() uint64 {
	const meaning = 1 // raise it when the bytes mean something else at the same place
	h := fnv.New64a()
	fmt.Fprint(h, meaning,
		tableNextHopsAt, tableEntriesAt, tableExtendedAt, tableGroupsAt, tableSize,
		writerOwnersAt, writerDepthsAt, writerExactAt, writerExtendedDepthAt, writerExtendedExactAt, writerSize,
		groupWords, groupUsedWord, nextHopWords, MaxMembers, extendedBit)
	return h.Sum64()
}()
