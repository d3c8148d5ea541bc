package bgp

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"routerd/config"
	"routerd/control/bgp/bgptest"
	"routerd/fib/realtable"
)

// counter is a sink that keeps numbers only, so that what is measured is the speaker.
type counter struct {
	routes, batches, withdraws atomic.Int64
	eor, down                  chan struct{}
}

func (c *counter) Routes(changes []Change) {
	c.batches.Add(1)
	for _, ch := range changes {
		if ch.Path == nil {
			c.withdraws.Add(1)
		} else {
			c.routes.Add(1)
		}
	}
}
func (c *counter) EndOfRIB(netip.Addr)                   { c.eor <- struct{}{} }
func (c *counter) PeerUp(netip.Addr, uint32, netip.Addr) {}
func (c *counter) PeerDown(netip.Addr, string)           { c.down <- struct{}{} }
func (c *counter) PeerRestarts(netip.Addr)               {}
func (c *counter) SweepPeer(netip.Addr)                  {}

// The real table from one upstream to the sink, and the loss of that upstream. It
// logs what it measures and asserts no time.
func TestFullTable(t *testing.T) {
	if testing.Short() {
		t.Skip("short: 901,899 routes take about 10 s")
	}
	table, err := realtable.Prefixes()
	if err != nil {
		t.Fatal(err)
	}
	sink := &counter{eor: make(chan struct{}, 1), down: make(chan struct{}, 1)}
	s, err := New(Options{Log: discard(), Sink: sink, ListenAddresses: []netip.Addr{ours}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	port := freePort(t)
	conf := &config.Config{
		Router:   config.Router{AS: ourAS, ID: netip.MustParseAddr("192.0.2.1")},
		BGP:      &config.BGP{ListenPort: port, Neighbors: []config.Neighbor{external(2, 64496)}},
		Policies: []config.Policy{everything("in"), only("out", "192.0.2.0/24")},
	}
	if err := s.Apply(ctx, conf); err != nil {
		t.Fatal(err)
	}
	empty := heap()
	p, err := bgptest.Dial(ctx, bgptest.Options{Local: host(2), Remote: netip.AddrPortFrom(ours, uint16(port)), AS: 64496})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	begin := time.Now()
	const each = 13 // prefixes in an UPDATE, as in a real feed: about 70,000 paths
	for i := 0; i < len(table); i += each {
		r := bgptest.Route{ASPath: []uint32{64496, 3356, uint32(i + 1)}, Communities: []uint32{64496<<16 | uint32(i%500)}}
		if err := p.Announce(r, table[i:min(i+each, len(table))]...); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.EndOfRIB(); err != nil {
		t.Fatal(err)
	}
	<-sink.eor
	loaded := time.Since(begin)
	if n := sink.routes.Load(); n != int64(len(table)) || sink.withdraws.Load() != 0 {
		t.Errorf("%d routes and %d withdraws at the sink, want %d and 0", n, sink.withdraws.Load(), len(table))
	}
	v, _ := s.Neighbor(host(2))
	if v.Received != len(table) || v.Accepted != len(table) {
		t.Errorf("received %d, accepted %d", v.Received, v.Accepted)
	}
	full := heap()
	var own uint64
	s.onLoop(func(l *loop) { // what is ours of it: drop the books and look again
		l.sessions[host(2)].clear()
		own = full - heap()
	})
	t.Logf("%d routes: %.1f s from the first UPDATE to End-of-RIB at the sink in %d batches, lag at most %v",
		len(table), loaded.Seconds(), sink.batches.Load(), s.Lag().Worst.Round(time.Millisecond))
	t.Logf("heap %d MiB more than empty, %d MiB of it our sessions' books", (full-empty)>>20, own>>20)

	begin = time.Now()
	p.Kill()
	<-sink.down
	t.Logf("upstream killed: PeerDown at the sink after %v", time.Since(begin).Round(100*time.Microsecond))
	begin = time.Now()
	conf.BGP.Neighbors = append(conf.BGP.Neighbors, external(3, 64497))
	if err := s.Apply(ctx, conf); err != nil {
		t.Error(err)
	}
	t.Logf("a new neighbour asked for at that moment: configured after %.1f s", time.Since(begin).Seconds())
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// GoBGP frozen in a management call: everything an operator sees goes on, and the
// loss of a neighbour still reaches the sink.
func TestFrozenEngine(t *testing.T) {
	r := newRig(t)
	r.apply(r.config(permissive(), external(2, 64496)))
	p := r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	r.sink.has(t, host(2), "203.0.113.0/24")

	frozen, thaw := make(chan struct{}), make(chan struct{})
	r.log.freeze.Store(&freeze{at: "call set policy", reached: frozen, release: thaw}) // GoBGP holds its lock there
	apply := func(wait context.Context) error {
		return r.s.Apply(wait, r.config([]config.Policy{only("in", "10.0.0.0/8"), only("out", "10.0.0.0/8")}, external(2, 64496)))
	}
	first, cancel := context.WithCancel(r.ctx)
	go func() { <-frozen; cancel() }()
	if err := apply(first); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "it goes on") {
		t.Errorf("%v", err)
	}
	if err := apply(first); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	if v := r.s.Neighbors(); len(v) != 1 || v[0].State != "Established" {
		t.Errorf("%+v", v)
	}
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	p.Kill()
	r.sink.wait(t, "down", func() bool { return len(r.sink.downs[host(2)]) == 1 })
	if v, _ := r.s.Neighbor(host(2)); v.State == "Established" {
		r.neighbor(2, "down", func(n Neighbor) bool { return n.State != "Established" })
	}
	close(thaw)
	p = r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("203.0.113.0/24"), prefix("10.0.0.0/8")))
	r.sink.has(t, host(2), "10.0.0.0/8")
}
