package fib

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNextHopRoundTrip(t *testing.T) {
	w, table := newFIB(t, Options{})
	for _, nh := range []NextHop{
		{},
		{Action: ActionForward, Port: 65535, Gateway: netip.MustParseAddr("255.255.255.255")},
		{Action: ActionForward, Gateway: netip.MustParseAddr("0.0.0.0")},
		{Action: ActionGlean, Port: 7},
		{Action: ActionLocal, Port: 3},
		{Action: ActionBlackhole},
		{Action: ActionUnreachable},
	} {
		i := acquire(t, w, nh)
		if diff := gocmp.Diff(nh, table.NextHop(i), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("next hop %d (-want +got):\n%s", i, diff)
		}
		if again := acquire(t, w, nh); again != i {
			t.Errorf("%v has the indexes %d and %d", nh, i, again)
		}
	}
	for _, nh := range []NextHop{
		{Action: ActionForward},
		{Action: ActionForward, Gateway: netip.MustParseAddr("2001:db8::1")},
		{Action: ActionForward, Gateway: netip.MustParseAddr("::ffff:192.0.2.1")},
		{Action: ActionGlean, Gateway: netip.MustParseAddr("192.0.2.1")},
		{Action: ActionNoRoute, Port: 1},
		{Action: actions},
	} {
		if _, err := w.AcquireNextHop(nh); !errors.Is(err, ErrInvalidNextHop) {
			t.Errorf("AcquireNextHop(%v) = %v", nh, err)
		}
	}
}

func TestActionNames(t *testing.T) {
	var got []string
	for a := range actions + 1 {
		got = append(got, a.String())
	}
	want := []string{"no route", "forward", "glean", "local", "blackhole", "unreachable", "action 6"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// members returns what a reader sees.
func members(t *Table, g uint16) []uint16 {
	var out [MaxMembers]uint16
	return slices.Clone(out[:t.Members(g, &out)])
}

func TestGroupMembers(t *testing.T) {
	w, table := newFIB(t, Options{})
	var hops []uint16
	for i := range MaxMembers + 1 {
		hops = append(hops, acquire(t, w, gateway(i)))
	}
	g, err := w.NewGroup(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Set(prefix("0.0.0.0/0"), g); err != nil {
		t.Fatal(err)
	}
	for n := range MaxMembers + 1 {
		for _, m := range []int{n, 0, n, MaxMembers - n, n} {
			want := hops[:m]
			if err := w.SetGroup(g, want); err != nil {
				t.Fatal(err)
			}
			for _, at := range []uint16{g, 0} {
				if diff := gocmp.Diff(want, members(table, at), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("group %d (-want +got):\n%s", at, diff)
				}
				if got := table.Select(at, 12345); m == 0 && got != 0 || m > 0 && !slices.Contains(want, got) {
					t.Fatalf("Select of %v = %d", want, got)
				}
				if got, only := table.Only(at); only != (m < 2) || only && got != table.Select(at, 1) {
					t.Fatalf("Only of %v = %d %v", want, got, only)
				}
			}
		}
	}
	if err := w.SetGroup(g, hops); !errors.Is(err, ErrTooManyMembers) {
		t.Errorf("17 members: %v", err)
	}
	if err := w.SetGroup(g, append(slices.Clone(hops[:16]), hops[0])); err != nil {
		t.Errorf("16 members, one twice: %v", err)
	}
	if err := w.SetGroup(g, []uint16{hops[16] + 1}); !errors.Is(err, ErrInvalidNextHop) {
		t.Errorf("a next hop nobody acquired: %v", err)
	}
	for _, bad := range []uint16{0, g + 1, 40000} {
		if err := w.SetGroup(bad, hops[:1]); !errors.Is(err, ErrInvalidGroup) {
			t.Errorf("SetGroup(%d) = %v", bad, err)
		}
	}
	if diff := gocmp.Diff(hops[:16], members(table, g)); diff != "" {
		t.Errorf("after refusals (-want +got):\n%s", diff)
	}
}

func TestDefaultRouteFollowsItsGroup(t *testing.T) {
	w, table := newFIB(t, Options{})
	a, b := newGroup(t, w, gateway(1)), newGroup(t, w, gateway(2), gateway(3))
	all := prefix("0.0.0.0/0")
	same := func(g uint16) {
		t.Helper()
		if diff := gocmp.Diff(members(table, g), members(table, 0), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("group 0 is not group %d (-want +got):\n%s", g, diff)
		}
	}
	for _, g := range []uint16{a, b, a} {
		if err := w.Set(all, g); err != nil {
			t.Fatal(err)
		}
		same(g)
	}
	if err := w.SetGroup(a, members(table, b)); err != nil {
		t.Fatal(err)
	}
	same(a)
	if err := w.SetGroup(b, nil); err != nil {
		t.Fatal(err)
	}
	same(a)
	if ok, err := w.Delete(all); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := members(table, 0); len(got) != 0 {
		t.Errorf("without a default route group 0 has %v", got)
	}
	checkAll(t, w, slowList{})
}

func TestSelectSpreadsAndStays(t *testing.T) {
	const flows = 40_000
	w, table := newFIB(t, Options{})
	var hops []uint16
	for i := range MaxMembers {
		hops = append(hops, acquire(t, w, gateway(i)))
	}
	g, err := w.NewGroup(hops[:2])
	if err != nil {
		t.Fatal(err)
	}
	for n := 2; n <= MaxMembers; n++ {
		if err := w.SetGroup(g, hops[:n]); err != nil {
			t.Fatal(err)
		}
		before := make([]uint16, flows)
		count := map[uint16]int{}
		for f := range before {
			before[f] = table.Select(g, uint32(f))
			count[before[f]]++
		}
		for _, i := range hops[:n] {
			if c := count[i]; c < flows/n*9/10 || c > flows/n*11/10 {
				t.Errorf("of %d members, next hop %d has %d of %d flows", n, i, c, flows)
			}
		}
		lost := hops[n/2]
		rest := slices.DeleteFunc(slices.Clone(hops[:n]), func(i uint16) bool { return i == lost })
		slices.Reverse(rest)
		if err := w.SetGroup(g, rest); err != nil {
			t.Fatal(err)
		}
		for f, was := range before {
			if now := table.Select(g, uint32(f)); now == lost || was != lost && now != was {
				t.Fatalf("flow %d moved from %d to %d when %d was lost", f, was, now, lost)
			}
		}
	}
}

func TestDefineComesBeforeTheGroup(t *testing.T) {
	var calls [][]uint16
	var refuse error
	var table *Table
	w, table := newFIB(t, Options{Define: func(nextHops []uint16) error {
		for _, i := range nextHops {
			if table.NextHop(i) == (NextHop{}) {
				t.Errorf("next hop %d shown before it is written", i)
			}
		}
		calls = append(calls, slices.Clone(nextHops))
		return refuse
	}})
	a, b := acquire(t, w, gateway(1)), acquire(t, w, gateway(2))
	dropped := acquire(t, w, gateway(3))
	w.ReleaseNextHop(dropped)
	refuse = fmt.Errorf("socket closed")
	if _, err := w.NewGroup([]uint16{a}); !errors.Is(err, refuse) {
		t.Errorf("NewGroup = %v", err)
	}
	if used := w.Stats().Groups.Used; used != 0 {
		t.Errorf("%d groups after a refusal", used)
	}
	refuse = nil
	g, err := w.NewGroup([]uint16{a})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetGroup(g, []uint16{a, b}); err != nil {
		t.Fatal(err)
	}
	c := acquire(t, w, gateway(4))
	if err := w.SetGroup(g, []uint16{a, b, c}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([][]uint16{{a, b}, {a, b}, {c}}, calls); diff != "" {
		t.Errorf("calls of Define (-want +got):\n%s", diff)
	}
}
