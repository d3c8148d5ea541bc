//go:build !race

package fib

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestRefusesForeignSegments(t *testing.T) {
	table, writer := newSegments(t)
	otherTable, otherWriter := newSegments(t)
	w, _ := attach(t, table, writer, Options{})
	if err := w.Set(prefix("10.0.0.0/8"), newGroup(t, w, gateway(1))); err != nil {
		t.Fatal(err)
	}
	open := func() error {
		_, err := NewWriter(table, writer, Options{})
		return err
	}
	poke := func(at *uint64, v uint64) func() {
		was := *at
		*at = v
		return func() { *at = was }
	}
	tableHead := overlay[header](table, 0)
	for _, tc := range []struct {
		name string
		want string
		try  func() error
	}{
		{"nil table", "truncated", func() error { _, err := OpenTable(nil); return err }},
		{"short table", "truncated", func() error { _, err := OpenTable(table[:tableSize-1]); return err }},
		{"short writer", "truncated", func() error { _, err := NewWriter(table, writer[:100], Options{}); return err }},
		{"crooked table", "8-byte border", func() error {
			crooked := newMemory(t, tableSize+hugePage)[1:]
			_, err := OpenTable(crooked)
			return err
		}},
		{"zeroes", "not a routerd FIB", func() error { _, err := OpenTable(newMemory(t, tableSize)); return err }},
		{"swapped", "magic", func() error { _, err := OpenTable(writer); return err }},
		{"unmatched", "different FIBs", func() error { _, err := NewWriter(otherTable, writer, Options{}); return err }},
		{"unmatched the other way", "different FIBs", func() error { _, err := NewWriter(table, otherWriter, Options{}); return err }},
		{"other layout", "another version", func() error { defer poke(&tableHead.layout, 1)(); return open() }},
		{"group not in use", "10.0.0.0/8", func() error {
			defer poke(&w.table.groups[w.exact[exactIndex(10<<16, 8)]][groupUsedWord], 0)()
			return open()
		}},
		{"next hop not defined", "not defined", func() error { defer poke(&w.table.nextHops[1][0], 0)(); return open() }},
		{"owner outside", "slot", func() error {
			w.owners[5] = 1 << 30
			defer func() { w.owners[5] = 0 }()
			return open()
		}},
		{"two owners", "one slot", func() error {
			defer func() { w.owners[5], w.owners[6] = 0, 0 }()
			for _, x := range []int{5, 6} {
				w.owners[x] = 9
				w.extendedExact[x][2] = w.exact[exactIndex(10<<16, 8)]
			}
			return open()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.try()
			if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line on %q", err, tc.want)
			}
		})
	}
	if err := Format(table, writer); err == nil {
		t.Error("Format of segments in use did not fail")
	}
	if err := open(); err != nil {
		t.Errorf("all put back, and yet: %v", err)
	}
}

// smallFIB has one prefix of each kind.
func smallFIB(tb testing.TB) (table, writer []byte, prefixes []netip.Prefix) {
	table, writer = newSegments(tb)
	w, _ := attach(tb, table, writer, Options{})
	g := newGroup(tb, w, gateway(1), gateway(2))
	prefixes = []netip.Prefix{prefix("0.0.0.0/0"), prefix("10.0.0.0/24"), prefix("10.0.0.128/25")}
	for _, p := range prefixes {
		if err := w.Set(p, g); err != nil {
			tb.Fatal(err)
		}
	}
	return table, writer, prefixes
}

var foreign = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}

// FuzzOpenTable writes foreign bytes somewhere into a table that is in use.
func FuzzOpenTable(f *testing.F) {
	table, _, _ := smallFIB(f)
	for _, at := range []uint32{0, 8, 24, tableNextHopsAt + 16, tableEntriesAt, tableEntriesAt + 10<<17, tableExtendedAt + 10<<9, tableGroupsAt, tableGroupsAt + 64} {
		f.Add(at, foreign)
	}
	addrs := []uint32{0, 10 << 24, 10<<24 | 129, 1<<32 - 1}
	for a := range uint32(32) {
		addrs = append(addrs, 10<<24|a<<3)
	}
	f.Fuzz(func(t *testing.T, at uint32, data []byte) {
		place := table[int(at)%len(table):]
		place = place[:min(len(place), len(data))]
		was := bytes.Clone(place)
		copy(place, data)
		defer copy(place, was)
		reader, err := OpenTable(table)
		if err != nil {
			return
		}
		out := make([]uint16, len(addrs))
		reader.LookupBatch(addrs, out)
		for i, a := range addrs {
			if g := reader.Lookup(a); g != out[i] || g >= MaxGroups {
				t.Errorf("Lookup(%v) = %d, LookupBatch %d", addrOf(a), g, out[i])
			}
			nh := reader.Select(out[i], a)
			if only, ok := reader.Only(out[i]); nh >= MaxNextHops || ok && only != nh {
				t.Errorf("Select = %d, Only = %d", nh, only)
			}
			_ = reader.NextHop(nh)
			var members [MaxMembers]uint16
			_ = reader.Members(out[i], &members)
		}
	})
}

// FuzzNewWriter does the same to both segments and lets a writer recover.
func FuzzNewWriter(f *testing.F) {
	table, writer, prefixes := smallFIB(f)
	for _, at := range []uint32{0, 24, tableNextHopsAt + 16, tableEntriesAt + 10<<17, tableGroupsAt + 64} {
		f.Add(at, false, foreign)
	}
	for _, at := range []uint32{0, 24, writerOwnersAt + 4, writerDepthsAt, writerExactAt + 2, writerExtendedExactAt} {
		f.Add(at, true, foreign)
	}
	f.Fuzz(func(t *testing.T, at uint32, inWriter bool, data []byte) {
		table, writer := clone(t, table), clone(t, writer)
		segment := table
		if inWriter {
			segment = writer
		}
		copy(segment[int(at)%len(segment):], data)
		w, err := NewWriter(table, writer, Options{})
		if err != nil {
			return
		}
		if _, _, err := w.Audit(1 << 16); err != nil {
			t.Fatal(err)
		}
		for _, p := range prefixes {
			if _, err := w.Delete(p); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// clone copies the pages that are not empty.
func clone(tb testing.TB, segment []byte) []byte {
	tb.Helper()
	const page = 4096
	var empty [page]byte
	c := newMemory(tb, len(segment))
	for at := 0; at < len(segment); at += page {
		if p := segment[at : at+page]; !bytes.Equal(p, empty[:]) {
			copy(c[at:], p)
		}
	}
	return c
}
