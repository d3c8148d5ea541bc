package fib

import "fmt"

// Options of a Writer.
type Options struct {
	// Epochs tells when readers have let go of what they may have seen. With nil
	// there are no readers and everything is reused at once.
	Epochs Epochs

	// Define, if not nil, is called with next hops that are written and to which
	// no group points yet: the forwarding process resets their adjacencies. When
	// it fails, so does the NewGroup or SetGroup that needed them, and the next
	// one tries again.
	Define func(nextHops []uint16) error
}

// Writer changes a FIB. It is used from one goroutine at a time.
type Writer struct {
	table   *Table
	options Options

	// In the writer segment.
	head          *header
	owners        *ownerArray
	depths        *depthArray
	exact         *exactArray
	extendedDepth *extendedDepthArray
	extendedExact *extendedExactArray

	// On the heap, rebuilt by NewWriter.
	prefixes      int
	groups        [MaxGroups]groupUse
	groupPool     pool
	nextHops      [MaxNextHops]nextHopUse
	nextHopPool   pool
	nextHopOf     map[uint64]uint16 // by packed definition
	undefined     []uint16          // next hops that Define has not seen
	extended      slotIndex
	extendedCount [maxExtended]uint16 // prefixes longer than /24 in an extended group
	extendedPool  pool

	grace       grace
	auditCursor uint32
	repaired    int
}

// NewWriter attaches to formatted segments, which the writer before may have
// left in the middle of any operation: it finishes or undoes that operation while
// readers go on. The caller sees to it that no other Writer is attached.
// Groups that no prefix points to are freed, and so are next hops that are in no
// group. Foreign or damaged segments are refused with an error that wraps
// ErrForeign; a damaged pair is of no use to any writer.
func NewWriter(table, writer []byte, o Options) (*Writer, error) {
	t, err := tableSegment.check(table)
	if err != nil {
		return nil, err
	}
	head, err := writerSegment.check(writer)
	if err != nil {
		return nil, err
	}
	if t.pair != head.pair {
		return nil, fmt.Errorf("fib: %w: the table segment and the writer segment belong to different FIBs; restart the forwarding process", ErrForeign)
	}
	w := &Writer{
		table:         newTable(table),
		options:       o,
		head:          head,
		owners:        overlay[ownerArray](writer, writerOwnersAt),
		depths:        overlay[depthArray](writer, writerDepthsAt),
		exact:         overlay[exactArray](writer, writerExactAt),
		extendedDepth: overlay[extendedDepthArray](writer, writerExtendedDepthAt),
		extendedExact: overlay[extendedExactArray](writer, writerExtendedExactAt),
		nextHopOf:     make(map[uint64]uint16),
		grace:         grace{epochs: o.Epochs},
	}
	if err := w.recover(); err != nil {
		return nil, fmt.Errorf("fib: %w: %w; restart the forwarding process", ErrForeign, err)
	}
	return w, nil
}

// Usage is how full a table is.
type Usage struct {
	Used    int
	Waiting int // free as soon as every reader has passed a quiet point
	Max     int
}

// Stats are counts of the moment.
type Stats struct {
	Prefixes   int
	Groups     Usage
	NextHops   Usage
	Extended   Usage // /24s that hold longer prefixes
	Repaired   int   // entries mended since NewWriter, by it and by Audit
	TableBytes int   // what readers touch: the entries and the extended groups in use
}

// Stats returns how full the FIB is.
func (w *Writer) Stats() Stats {
	s := Stats{
		Prefixes: w.prefixes,
		Groups:   w.groupPool.usage(),
		NextHops: w.nextHopPool.usage(),
		Extended: w.extendedPool.usage(),
		Repaired: w.repaired,
	}
	s.TableBytes = slots*2 + s.Extended.Used*256*2
	return s
}
