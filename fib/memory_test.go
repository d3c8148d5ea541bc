package fib

import "testing"

// newFIB returns fresh segments and a writer and a reader on them.
func newFIB(tb testing.TB, o Options) (*Writer, *Table) {
	tb.Helper()
	table, writer := newSegments(tb)
	return attach(tb, table, writer, o)
}

func newSegments(tb testing.TB) (table, writer []byte) {
	tb.Helper()
	table, writer = newMemory(tb, TableSize()), newMemory(tb, WriterSize())
	if err := Format(table, writer); err != nil {
		tb.Fatal(err)
	}
	return table, writer
}

func attach(tb testing.TB, table, writer []byte, o Options) (*Writer, *Table) {
	tb.Helper()
	w, err := NewWriter(table, writer, o)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := OpenTable(table)
	if err != nil {
		tb.Fatal(err)
	}
	return w, t
}

// newGroups makes n groups of one next hop each; the caller keeps them.
func newGroups(tb testing.TB, w *Writer, n int) []uint16 {
	tb.Helper()
	groups := make([]uint16, n)
	for i := range groups {
		groups[i] = newGroup(tb, w, gateway(i))
	}
	return groups
}

func newGroup(tb testing.TB, w *Writer, nextHops ...NextHop) uint16 {
	tb.Helper()
	var members []uint16
	for _, nh := range nextHops {
		members = append(members, acquire(tb, w, nh))
	}
	g, err := w.NewGroup(members)
	if err != nil {
		tb.Fatal(err)
	}
	for _, i := range members {
		w.ReleaseNextHop(i)
	}
	return g
}

func acquire(tb testing.TB, w *Writer, nh NextHop) uint16 {
	tb.Helper()
	i, err := w.AcquireNextHop(nh)
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

func gateway(i int) NextHop {
	return NextHop{Action: ActionForward, Port: uint16(i % 4), Gateway: addrOf(10<<24 | uint32(i))}
}
