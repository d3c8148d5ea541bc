package fib

import (
	"errors"
	"net/netip"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// fakeEpochs is one reader, inside or outside of a round.
type fakeEpochs struct{ epoch uint64 }

func (e *fakeEpochs) Snapshot(dst []uint64) []uint64 { return append(dst, e.epoch) }

func (e *fakeEpochs) Passed(snapshot []uint64) bool {
	return snapshot[0]%2 == 0 || snapshot[0] != e.epoch
}

func (e *fakeEpochs) step() { e.epoch++ }

func TestReuseWaitsForReaders(t *testing.T) {
	reader := &fakeEpochs{epoch: 1}
	w, table := newFIB(t, Options{Epochs: reader})
	usage := func(groups, nextHops, extended Usage) {
		t.Helper()
		groups.Max, nextHops.Max, extended.Max = poolMax, poolMax, poolMax
		s := w.Stats()
		if diff := gocmp.Diff([]Usage{groups, nextHops, extended}, []Usage{s.Groups, s.NextHops, s.Extended}); diff != "" {
			t.Errorf("groups, next hops, extended (-want +got):\n%s", diff)
		}
	}
	g := newGroup(t, w, gateway(1), gateway(2))
	p := prefix("192.0.2.128/25")
	if err := w.Set(p, g); err != nil {
		t.Fatal(err)
	}
	seen := table.Lookup(hostOrder(p.Addr()))
	nh := members(table, seen)[0]
	want := table.NextHop(nh)

	w.FreeGroup(g)
	w.FreeGroup(g)
	usage(Usage{Used: 1}, Usage{Used: 2}, Usage{Used: 1})
	if _, err := w.Delete(p); err != nil {
		t.Fatal(err)
	}
	usage(Usage{Waiting: 1}, Usage{Used: 2}, Usage{Waiting: 1})
	if err := w.Set(p, g); !errors.Is(err, ErrInvalidGroup) {
		t.Errorf("Set to a group that is gone = %v", err)
	}
	if got := table.NextHop(members(table, seen)[0]); got != want {
		t.Errorf("a reader in its round finds %v, want %v", got, want)
	}

	reader.step() // out; the reader's round is over
	reader.step() // in again: now it may not hold g, but could hold what comes later
	w.collect()
	usage(Usage{}, Usage{Waiting: 2}, Usage{})
	if got := table.NextHop(nh); got != want {
		t.Errorf("next hop freed too early: %v", got)
	}
	reader.step()
	w.collect()
	usage(Usage{}, Usage{}, Usage{})
	if got := table.NextHop(nh); got != (NextHop{}) {
		t.Errorf("next hop still %v", got)
	}
}

// A group of old members may be in a reader's hand after SetGroup.
func TestSetGroupKeepsOldNextHops(t *testing.T) {
	reader := &fakeEpochs{epoch: 1}
	w, table := newFIB(t, Options{Epochs: reader})
	g := newGroup(t, w, gateway(1))
	old := members(table, g)[0]
	if err := w.SetGroup(g, nil); err != nil {
		t.Fatal(err)
	}
	if table.NextHop(old) != gateway(1) {
		t.Error("next hop gone while a reader may hold it")
	}
	if i := acquire(t, w, gateway(9)); i == old {
		t.Error("next hop reused while a reader may hold it")
	}
	reader.step()
	w.collect()
	if table.NextHop(old) != (NextHop{}) {
		t.Error("next hop kept after the quiet point")
	}
}

func TestExhaustion(t *testing.T) {
	reader := &fakeEpochs{}
	w, table := newFIB(t, Options{Epochs: reader})
	model := slowList{}

	long := func(i int) netip.Prefix { return netip.PrefixFrom(addrOf(uint32(i)<<8), 25) }
	g := newGroup(t, w, gateway(0))
	for i := range poolMax {
		model[long(i)] = g
		if err := w.Set(long(i), g); err != nil {
			t.Fatal(err)
		}
	}
	more := long(poolMax)
	if err := w.Set(more, g); !errors.Is(err, ErrExtendedFull) {
		t.Fatalf("Set = %v", err)
	}
	checkAll(t, w, model)
	check(t, w, table, model, more, long(poolMax-1))

	reader.step() // a reader is inside
	if _, err := w.Delete(long(7)); err != nil {
		t.Fatal(err)
	}
	err := w.Set(more, g)
	if !errors.Is(err, ErrExtendedFull) {
		t.Fatalf("Set before the quiet point = %v", err)
	}
	const text = "fib: extended group table full: 32766 of 32767 in use, 1 waiting for a worker to pass a quiet point (for 0.127.255.0/25)"
	if err.Error() != text {
		t.Errorf("error %q, want %q", err, text)
	}
	reader.step()
	if err := w.Set(more, g); err != nil {
		t.Fatal(err)
	}

	for i := 1; i < poolMax; i++ {
		acquire(t, w, gateway(i))
	}
	before := w.Stats()
	if _, err := w.AcquireNextHop(gateway(poolMax)); !errors.Is(err, ErrNextHopsFull) {
		t.Errorf("AcquireNextHop = %v", err)
	}
	for i := 1; i < poolMax; i++ {
		if _, err := w.NewGroup([]uint16{1}); err != nil {
			t.Fatal(err)
		}
	}
	before.Groups.Used = poolMax
	if _, err := w.NewGroup([]uint16{2}); !errors.Is(err, ErrGroupsFull) {
		t.Errorf("NewGroup = %v", err)
	}
	if diff := gocmp.Diff(before, w.Stats()); diff != "" {
		t.Errorf("a refused call changed something (-want +got):\n%s", diff)
	}
}
