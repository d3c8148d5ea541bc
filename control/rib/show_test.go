package rib

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/fib"
)

func TestRoutesAreInOrder(t *testing.T) {
	r := newTestRIB(t, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	all := map[netip.Prefix]bool{}
	var statics []StaticRoute
	for range 3000 {
		p := netip.PrefixFrom(addrOf(0x0a000000|random.Uint32()>>16<<(random.Uint32()%12)), 8+random.IntN(25)).Masked()
		if !all[p] {
			all[p] = true
			statics = append(statics, StaticRoute{Prefix: p, Action: fib.ActionBlackhole})
		}
	}
	r.SetStatics(statics)
	for _, within := range []netip.Prefix{everything, prefix("10.0.0.0/8"), prefix("10.0.128.0/17"), statics[7].Prefix} {
		var want, got []netip.Prefix
		for p := range all {
			if within.Bits() <= p.Bits() && within.Contains(p.Addr()) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, netip.Prefix.Compare)
		for route := range r.Routes(within) {
			got = append(got, route.Prefix)
		}
		if !slices.Equal(want, got) {
			t.Errorf("within %v: %d routes, want %d in order", within, len(got), len(want))
		}
	}
}

// The lock is free while the caller of Routes has the turn.
func TestRoutesWhileTheyChange(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	n := 0
	for route := range r.Routes(everything) {
		n++
		r.SetStatics([]StaticRoute{{Prefix: netip.PrefixFrom(route.Prefix.Addr(), 24).Masked(), Action: fib.ActionBlackhole}})
	}
	if n < len(twoPortsFIB) {
		t.Errorf("saw %d routes", n)
	}
}

func TestLookupAndCovering(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.SetStatics([]StaticRoute{static("0.0.0.0/0", "198.51.100.1"), {Prefix: prefix("203.0.113.0/24"), Action: fib.ActionBlackhole}})
	worse := ebgp("192.0.2.9")
	worse.PathLen = 4
	worse.Attrs = "64497 64498 64499 64500"
	r.UpdateBGP([]Change{
		change("203.0.113.128/25", "198.51.100.1", ebgp("198.51.100.1")),
		change("203.0.113.128/25", "192.0.2.9", worse),
		change("203.0.113.192/26", "192.0.2.9", ebgp("10.9.9.9")), // does not resolve
	})
	route, ok := r.Lookup(addr("203.0.113.200"))
	if !ok || route.Prefix != prefix("203.0.113.128/25") {
		t.Fatalf("looked up %v, %v", route.Prefix, ok)
	}
	hop := func(gateway string, port uint16, name string) []Hop {
		return []Hop{{fib.NextHop{Action: fib.ActionForward, Port: port, Gateway: addr(gateway)}, name}}
	}
	want := Route{
		Prefix: prefix("203.0.113.128/25"),
		Candidates: []Candidate{
			{Source: EBGP, Distance: 20, Used: true, Action: fib.ActionForward, Peer: addr("198.51.100.1"),
				Via: []Via{{addr("198.51.100.1"), hop("198.51.100.1", 1, "xe0"), ""}}, Path: ebgp("198.51.100.1")},
			{Source: EBGP, Distance: 20, Loses: PathLength, Action: fib.ActionForward, Peer: addr("192.0.2.9"),
				Via: []Via{{addr("192.0.2.9"), hop("192.0.2.9", 2, "xe1"), ""}}, Path: worse},
		},
		NextHops: hop("198.51.100.1", 1, "xe0"),
		Backup:   hop("192.0.2.9", 2, "xe1"),
		InFIB:    true,
		Group:    route.Group,
		Since:    r.now,
	}
	if diff := cmp.Diff(want, route, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Errorf("route (-want +got):\n%s", diff)
	}
	var covering []string
	for _, c := range r.Covering(addr("203.0.113.200")) {
		covering = append(covering, c.Prefix.String())
	}
	if diff := cmp.Diff([]string{"203.0.113.192/26", "203.0.113.128/25", "203.0.113.0/24", "0.0.0.0/0"}, covering); diff != "" {
		t.Errorf("covering (-want +got):\n%s", diff)
	}
	if _, ok := r.Lookup(addr("2001:db8::1")); ok {
		t.Error("an IPv6 address has a route")
	}
}

func TestSinceIsTheLastChangeOfTheWinners(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	start := r.now
	worse := ebgp("192.0.2.9")
	worse.PathLen = 4
	better := ebgp("198.51.100.1")
	better.MED = 7
	steps := []struct {
		name    string
		do      func()
		changed bool
	}{
		{"first path", func() { r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))}) }, true},
		{"same again", func() { r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))}) }, false},
		{"backup", func() { r.UpdateBGP([]Change{change("8.8.8.0/24", "192.0.2.9", worse)}) }, false},
		{"new attributes", func() { r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", better)}) }, true},
		{"backup takes over", func() { r.DropPeer(addr("198.51.100.1")) }, true},
		{"other ports", func() { r.SetPorts(twoPorts()[1:]) }, false},
		{"unresolved", func() { r.SetPorts(nil) }, true},
	}
	last := start
	for _, s := range steps {
		r.now = r.now.Add(time.Minute)
		s.do()
		if s.changed {
			last = r.now
		}
		if route, _ := r.Get(prefix("8.8.8.0/24")); !route.Since.Equal(last) {
			t.Errorf("after %q it is since %v, want %v", s.name, route.Since.Sub(start), last.Sub(start))
		}
	}
}

// Readers and writers from several goroutines; the race detector judges.
func TestConcurrentReadersAndWriters(t *testing.T) {
	r := New(Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), OnLocalRoutes: func([]netip.Prefix) {}})
	f := newFakeFIB(t)
	r.Attach(f)
	r.SetPorts(twoPorts())
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for _, read := range []func(){
		func() { r.Lookup(addr("11.0.5.1")); r.Covering(addr("11.0.5.1")); r.Get(prefix("11.0.5.0/24")) },
		func() { r.Status(); r.NextHops(); r.Failures(10); r.WithFIB(func() { f.Get(everything) }) },
		func() {
			for range r.Routes(everything) {
			}
		},
	} {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					read()
				}
			}
		})
	}
	for i, peer := range []string{"198.51.100.1", "192.0.2.9"} {
		writers.Go(func() {
			for round := range 4 {
				var changes []Change
				for j := range 2000 {
					p := netip.PrefixFrom(netip.AddrFrom4([4]byte{11, byte(j >> 8), byte(j), 0}), 24)
					changes = append(changes, Change{p, addr(peer), ebgp(peer)})
				}
				r.UpdateBGP(changes)
				if round+i != 3 {
					r.DropPeer(addr(peer))
				}
			}
		})
	}
	writers.Go(func() {
		for i := range 20 {
			r.SetPorts(twoPorts()[i&1:])
			r.SetStatics([]StaticRoute{static("10.0.0.0/8", "192.0.2.9")})
			r.Audit(500)
			r.SetMultipath(1 + i&1)
			r.Sweep()
		}
		r.SetPorts(twoPorts())
	})
	writers.Wait()
	close(done)
	readers.Wait()
	if s := r.Status(); s.EBGP != 2000 || s.InFIB != 2000+len(twoPortsFIB)+1 || s.Busy {
		t.Errorf("status %+v", s)
	}
}

// Deciding a prefix again allocates nothing.
func TestChooseDoesNotAllocate(t *testing.T) {
	r := newTestRIB(t, Options{Multipath: 2})
	r.SetPorts(twoPorts())
	r.SetStatics([]StaticRoute{{Prefix: prefix("8.8.8.0/24"), Action: fib.ActionBlackhole, Distance: 250}})
	for _, peer := range []string{"198.51.100.1", "192.0.2.9", "192.0.2.10"} {
		r.UpdateBGP([]Change{change("8.8.8.0/24", peer, ebgp(peer))})
	}
	e, _ := r.table.Get(prefix("8.8.8.0/24"))
	if n := testing.AllocsPerRun(100, func() { r.mark(e); r.commit() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
