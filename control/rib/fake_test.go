package rib

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"routerd/fib"
)

// fakeFIB is a Programmer that checks the rules of the interface and counts.
type fakeFIB struct {
	t         failer
	nextHops  map[uint16]*fakeNextHop
	groups    map[uint16]*fakeGroup
	prefixes  map[netip.Prefix]uint16
	calls     []string                // names of the changing calls, in order
	refuse    func(call string) error // nil: takes everything
	maxGroups int                     // 0: no limit
	lastHop   uint16
	lastGroup uint16
}

type fakeNextHop struct {
	fib.NextHop
	refs int
}

type fakeGroup struct {
	members []uint16
	users   int
	held    bool
}

var (
	_ Programmer = (*fakeFIB)(nil)
	_ Programmer = (*fib.Writer)(nil)
)

// failer is what the tests' own tools need of a testing.TB.
type failer interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

func newFakeFIB(t failer) *fakeFIB {
	return &fakeFIB{
		t: t, nextHops: map[uint16]*fakeNextHop{}, groups: map[uint16]*fakeGroup{},
		prefixes: map[netip.Prefix]uint16{},
	}
}

func (f *fakeFIB) call(name string) error {
	f.calls = append(f.calls, name)
	if f.refuse != nil {
		return f.refuse(name)
	}
	return nil
}

func (f *fakeFIB) AcquireNextHop(nh fib.NextHop) (uint16, error) {
	if err := f.call("AcquireNextHop"); err != nil {
		return 0, err
	}
	for i, have := range f.nextHops {
		if have.NextHop == nh {
			have.refs++
			return i, nil
		}
	}
	f.lastHop++
	f.nextHops[f.lastHop] = &fakeNextHop{nh, 1}
	return f.lastHop, nil
}

func (f *fakeFIB) ReleaseNextHop(i uint16) {
	nh := f.nextHops[i]
	if nh == nil {
		f.t.Fatalf("next hop %d released and does not exist", i)
	}
	if nh.refs--; nh.refs == 0 {
		delete(f.nextHops, i)
	}
}

func (f *fakeFIB) refer(members []uint16) []uint16 {
	for _, i := range members {
		f.nextHops[i].refs++
	}
	return slices.Clone(members)
}

func (f *fakeFIB) NewGroup(members []uint16) (uint16, error) {
	if err := f.call("NewGroup"); err != nil {
		return 0, err
	}
	if f.maxGroups > 0 && len(f.groups) >= f.maxGroups {
		return 0, fmt.Errorf("%w: %d of %d", fib.ErrGroupsFull, len(f.groups), f.maxGroups)
	}
	f.lastGroup++
	f.groups[f.lastGroup] = &fakeGroup{members: f.refer(members), held: true}
	return f.lastGroup, nil
}

func (f *fakeFIB) SetGroup(g uint16, members []uint16) error {
	if err := f.call("SetGroup"); err != nil && len(members) > 0 {
		return err
	}
	group := f.groups[g]
	if group == nil || !group.held {
		f.t.Fatalf("group %d set and not held", g)
	}
	old := group.members
	group.members = f.refer(members)
	for _, i := range old {
		f.ReleaseNextHop(i)
	}
	return nil
}

func (f *fakeFIB) FreeGroup(g uint16) {
	group := f.groups[g]
	if group == nil || !group.held {
		f.t.Fatalf("group %d freed and not held", g)
	}
	group.held = false
	f.collect(g)
}

func (f *fakeFIB) collect(g uint16) {
	group := f.groups[g]
	if group.held || group.users > 0 {
		return
	}
	for _, i := range group.members {
		f.ReleaseNextHop(i)
	}
	delete(f.groups, g)
}

func (f *fakeFIB) Set(p netip.Prefix, g uint16) error {
	if err := f.call("Set"); err != nil {
		return err
	}
	group := f.groups[g]
	if group == nil || !group.held {
		f.t.Fatalf("%v set to group %d, which is not held", p, g)
	}
	if p != p.Masked() {
		f.t.Fatalf("%v set with host bits", p)
	}
	group.users++
	if old, ok := f.prefixes[p]; ok {
		f.groups[old].users--
		f.collect(old)
	}
	f.prefixes[p] = g
	return nil
}

func (f *fakeFIB) Delete(p netip.Prefix) (bool, error) {
	if err := f.call("Delete"); err != nil {
		return false, err
	}
	g, ok := f.prefixes[p]
	if ok {
		delete(f.prefixes, p)
		f.groups[g].users--
		f.collect(g)
	}
	return ok, nil
}

func (f *fakeFIB) Get(p netip.Prefix) (uint16, bool) {
	g, ok := f.prefixes[p]
	return g, ok
}

func (f *fakeFIB) All() iter.Seq2[netip.Prefix, uint16] {
	return func(yield func(netip.Prefix, uint16) bool) {
		for _, p := range slices.SortedFunc(maps.Keys(f.prefixes), netip.Prefix.Compare) {
			if !yield(p, f.prefixes[p]) {
				return
			}
		}
	}
}

// restart gives the FIB as the next control process finds it: prefixes with their
// groups, which nobody holds.
func (f *fakeFIB) restart() {
	for g, group := range f.groups {
		group.held = false
		f.collect(g)
	}
}

// routes writes the FIB's content, one string for each prefix.
func (f *fakeFIB) routes() map[string]string {
	routes := map[string]string{}
	for p, g := range f.prefixes {
		var hops []fib.NextHop
		for _, i := range f.groups[g].members {
			hops = append(hops, f.nextHops[i].NextHop)
		}
		routes[p.String()] = formatHops(hops)
	}
	return routes
}

func formatHops(hops []fib.NextHop) string {
	var s []string
	for _, h := range hops {
		switch h.Action {
		case fib.ActionForward:
			s = append(s, fmt.Sprintf("%v@%d", h.Gateway, h.Port))
		case fib.ActionGlean, fib.ActionLocal:
			s = append(s, fmt.Sprintf("%v@%d", h.Action, h.Port))
		default:
			s = append(s, h.Action.String())
		}
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}
