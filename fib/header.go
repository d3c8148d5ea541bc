package fib

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// header stands at the start of both segments. Its words are in host order:
// the segments never leave the machine.
type header struct {
	magic   uint64
	layout  uint64
	pair    uint64 // equal in a table segment and its writer segment
	lengths uint64 // writer segment: bit n is set before the first /n is stored
}

// segment tells the two kinds apart, in headers and in messages.
type segment struct {
	name  string
	magic uint64
	size  int
}

var (
	tableSegment  = segment{"table", 0x726f75746572_4654, tableSize}   // "routerFT"
	writerSegment = segment{"writer", 0x726f75746572_4657, writerSize} // "routerFW"
)

// Format makes two fresh (zeroed) segments into an empty FIB. They must be at
// least TableSize and WriterSize bytes and start on an 8-byte border; it refuses
// segments whose header is already written.
func Format(table, writer []byte) error {
	t, err := tableSegment.header(table)
	if err != nil {
		return err
	}
	w, err := writerSegment.header(writer)
	if err != nil {
		return err
	}
	if *t != (header{}) || *w != (header{}) {
		return fmt.Errorf("fib: format: the segments are in use already: make new ones, or attach to these")
	}
	var pair [8]byte
	if _, err := rand.Read(pair[:]); err != nil {
		return fmt.Errorf("fib: format: %w", err)
	}
	*w = header{writerSegment.magic, layout, binary.NativeEndian.Uint64(pair[:]), 0}
	*t = header{tableSegment.magic, layout, w.pair, 0}
	return nil
}

// header returns the header of memory that is large enough and aligned.
func (s segment) header(memory []byte) (*header, error) {
	if len(memory) < s.size {
		return nil, fmt.Errorf("fib: %s segment: %w: %d bytes, need %d: it is truncated; restart the forwarding process",
			s.name, ErrForeign, len(memory), s.size)
	}
	if !aligned(memory) {
		return nil, fmt.Errorf("fib: %s segment: %w: does not start on an 8-byte border; map it whole",
			s.name, ErrForeign)
	}
	return overlay[header](memory, 0), nil
}

// check returns the header of a formatted segment.
func (s segment) check(memory []byte) (*header, error) {
	h, err := s.header(memory)
	switch {
	case err != nil:
		return nil, err
	case h.magic != s.magic:
		return nil, fmt.Errorf("fib: %s segment: %w: magic %#x, want %#x: this memory is not a routerd FIB",
			s.name, ErrForeign, h.magic, s.magic)
	case h.layout != layout:
		return nil, fmt.Errorf("fib: %s segment: %w: layout %#x, this program has %#x: made by another version of routerd; restart the forwarding process",
			s.name, ErrForeign, h.layout, layout)
	}
	return h, nil
}
