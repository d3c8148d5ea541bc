package fib

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// testEpochs are readers that are inside a round when their epoch is odd.
type testEpochs []atomic.Uint64

func (e testEpochs) Snapshot(dst []uint64) []uint64 {
	for i := range e {
		dst = append(dst, e[i].Load())
	}
	return dst
}

func (e testEpochs) Passed(snapshot []uint64) bool {
	for i, was := range snapshot {
		if was%2 == 1 && e[i].Load() == was {
			return false
		}
	}
	return true
}

// Readers look up while a writer changes prefixes, groups and next hops and
// reuses their indexes as soon as it may. Every address belongs to a family, and
// so does every next hop that is ever put behind it: a reader that meets a
// stranger has used something after it was freed.
func TestReadersMeetNoStranger(t *testing.T) {
	const families, readers = 12, 2
	steps := 60_000
	if testing.Short() || raceEnabled {
		steps = 10_000
	}
	epochs := make(testEpochs, readers)
	w, table := newFIB(t, Options{Epochs: epochs})
	var addrs []uint32
	for f := range uint32(families) {
		for _, last := range []uint32{0, 127, 128, 255} {
			addrs = append(addrs, f<<16|last, f<<16|1<<8|last)
		}
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for r := range readers {
		wg.Go(func() {
			out := make([]uint16, len(addrs))
			flow := uint32(0)
			for !stop.Load() && !t.Failed() {
				epochs[r].Add(1)
				table.LookupBatch(addrs, out)
				for i, g := range out {
					flow++
					nh := table.NextHop(table.Select(g, flow))
					if f := uint16(addrs[i] >> 16); nh.Action != ActionNoRoute && nh.Port != f && nh.Port != families {
						t.Errorf("%v of family %d leads to %v of group %d", addrOf(addrs[i]), f, nh, g)
					}
					var members [MaxMembers]uint16
					for _, m := range members[:table.Members(g, &members)] {
						if nh := table.NextHop(m); nh.Action == ActionNoRoute {
							t.Errorf("group %d has a next hop that is gone", g)
						}
					}
				}
				epochs[r].Add(1)
			}
		})
	}
	churn(t, w, families, steps)
	stop.Store(true)
	wg.Wait()
	for p := range w.All() {
		if _, err := w.Delete(p); err != nil {
			t.Fatal(err)
		}
	}
	w.collect()
	noLeaks(t, w, slowList{})
}

func churn(t *testing.T, w *Writer, families, steps int) {
	r := rand.New(rand.NewPCG(8, 9))
	group := func(family uint16) uint16 {
		var members []uint16
		for range r.IntN(7) {
			members = append(members, acquire(t, w, NextHop{ActionForward, family, addrOf(r.Uint32N(50))}))
		}
		g, err := w.NewGroup(members)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			i := acquire(t, w, NextHop{ActionForward, family, addrOf(1000 + r.Uint32N(50))})
			if err := w.SetGroup(g, append(members[:len(members)/2:len(members)/2], i)); err != nil {
				t.Fatal(err)
			}
			w.ReleaseNextHop(i)
		}
		for _, i := range members {
			w.ReleaseNextHop(i)
		}
		return g
	}
	for step := range steps {
		family := uint32(r.IntN(families))
		p := netip.PrefixFrom(addrOf(family<<16|r.Uint32N(512)), 23+r.IntN(10)).Masked()
		if step%100 == 0 { // the default route's family is everybody's friend
			p, family = prefix("0.0.0.0/0"), uint32(families)
		}
		if r.IntN(3) == 0 {
			if _, err := w.Delete(p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		g := group(uint16(family))
		if err := w.Set(p, g); err != nil {
			t.Fatal(err)
		}
		w.FreeGroup(g)
	}
}
