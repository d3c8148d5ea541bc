package bgp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

const (
	ourAS   uint32 = 64500
	maxWait        = 20 * time.Second
)

var ours = netip.MustParseAddr("127.0.0.1")

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func host(n int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, byte(n)}) }

// recorder is a sink that keeps the table its calls describe.
type recorder struct {
	mu               sync.Mutex
	changed          chan struct{}
	table            map[netip.Addr]map[netip.Prefix]*Path
	up               map[netip.Addr]bool
	eor              map[netip.Addr]int
	downs            map[netip.Addr][]string
	changes          int
	restarts, sweeps map[netip.Addr]int
	stale            map[netip.Addr]map[netip.Prefix]*Path
	stray            []string // calls that break the sink's contract
}

func newRecorder() *recorder {
	return &recorder{changed: make(chan struct{}), table: make(map[netip.Addr]map[netip.Prefix]*Path),
		up: make(map[netip.Addr]bool), eor: make(map[netip.Addr]int), downs: make(map[netip.Addr][]string),
		restarts: make(map[netip.Addr]int), sweeps: make(map[netip.Addr]int), stale: make(map[netip.Addr]map[netip.Prefix]*Path)}
}

func (r *recorder) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Routes(changes []Change) {
	r.note(func() {
		r.changes += len(changes)
		for _, c := range changes {
			if !r.up[c.Peer] {
				r.stray = append(r.stray, fmt.Sprintf("route %v of %v, which is down", c.Prefix, c.Peer))
			}
			if c.Path == nil {
				if _, ok := r.table[c.Peer][c.Prefix]; !ok {
					r.stray = append(r.stray, fmt.Sprintf("withdraw of %v, which %v had not announced", c.Prefix, c.Peer))
				}
				delete(r.table[c.Peer], c.Prefix)
				continue
			}
			if r.table[c.Peer] == nil {
				r.table[c.Peer] = make(map[netip.Prefix]*Path)
			}
			r.table[c.Peer][c.Prefix] = c.Path
		}
	})
}

func (r *recorder) EndOfRIB(peer netip.Addr) { r.note(func() { r.eor[peer]++ }) }

func (r *recorder) PeerUp(peer netip.Addr, _ uint32, _ netip.Addr) {
	r.note(func() {
		if r.up[peer] {
			r.stray = append(r.stray, fmt.Sprintf("%v up twice", peer))
		}
		r.up[peer] = true
	})
}

func (r *recorder) PeerDown(peer netip.Addr, reason string) {
	r.note(func() {
		if !r.up[peer] {
			r.stray = append(r.stray, fmt.Sprintf("%v down twice", peer))
		}
		r.up[peer] = false
		r.downs[peer] = append(r.downs[peer], reason)
		delete(r.table, peer)
		delete(r.stale, peer)
	})
}

// PeerRestarts keeps the table; the paths that are not announced again are stale.
func (r *recorder) PeerRestarts(peer netip.Addr) {
	r.note(func() {
		if !r.up[peer] {
			r.stray = append(r.stray, fmt.Sprintf("%v restarts while down", peer))
		}
		r.up[peer] = false
		r.restarts[peer]++
		r.stale[peer] = maps.Clone(r.table[peer])
	})
}

func (r *recorder) SweepPeer(peer netip.Addr) {
	r.note(func() {
		r.sweeps[peer]++
		for p, path := range r.stale[peer] {
			if r.table[peer][p] == path {
				delete(r.table[peer], p)
			}
		}
		delete(r.stale, peer)
	})
}

// wait returns when ok holds for what the sink was told so far.
func (r *recorder) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(maxWait)
	for {
		r.mu.Lock()
		done, changed := ok(), r.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("waited for %s; up %v, downs %v, eor %v, %d changes", what, r.up, r.downs, r.eor, r.changes)
		}
	}
}

// has waits until the paths of peer are those of prefixes.
func (r *recorder) has(t *testing.T, peer netip.Addr, prefixes ...string) {
	t.Helper()
	want := make([]string, 0, len(prefixes))
	want = append(want, prefixes...)
	slices.Sort(want)
	r.wait(t, fmt.Sprintf("%v of %v", want, peer), func() bool {
		var got []string
		for p := range maps.Keys(r.table[peer]) {
			got = append(got, p.String())
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

// downsOf are the reasons for which sessions of peer have ended.
func (r *recorder) downsOf(peer netip.Addr) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.downs[peer])
}

func (r *recorder) path(peer netip.Addr, p string) *Path {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table[peer][prefix(p)]
}

// rig is a speaker on 127.0.0.1 with a recorder behind it.
type rig struct {
	*testing.T
	s    *Speaker
	sink *recorder
	port int
	ctx  context.Context
	log  *logBook
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, Options{})
}

// newRigWith is newRig with further options.
func newRigWith(t *testing.T, o Options) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*maxWait)
	t.Cleanup(cancel)
	r := &rig{T: t, sink: newRecorder(), port: freePort(t), ctx: ctx, log: &logBook{t: t}}
	o.Log, o.Sink, o.ListenAddresses = slog.New(r.log), r.sink, []netip.Addr{ours}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(context.Background(), maxWait)
		defer cancel()
		if err := s.Close(closing); err != nil {
			t.Error(err)
		}
		if len(r.sink.stray) > 0 {
			t.Errorf("the sink was told: %v", r.sink.stray)
		}
	})
	return r
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// logBook keeps the operator's log.
type logBook struct {
	t      *testing.T
	freeze atomic.Pointer[freeze]
	mu     sync.Mutex
	lines  []string
}

// freeze holds the goroutine that logs a text until it is released.
type freeze struct {
	at               string
	reached, release chan struct{}
}

func (b *logBook) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || b.freeze.Load() != nil
}
func (b *logBook) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b *logBook) WithGroup(string) slog.Handler      { return b }
func (b *logBook) Handle(_ context.Context, r slog.Record) error {
	if f := b.freeze.Load(); f != nil && strings.Contains(r.Message, f.at) && b.freeze.CompareAndSwap(f, nil) {
		close(f.reached)
		<-f.release
	}
	if r.Level < slog.LevelInfo {
		return nil
	}
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
	return nil
}

func (b *logBook) text() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lines)
}

func permissive() []config.Policy { return []config.Policy{everything("in"), everything("out")} }

func everything(name string) config.Policy {
	return config.Policy{Name: name, Terms: []config.Term{{Name: "all", Accept: true}}}
}

func only(name string, prefixes ...string) config.Policy {
	t := config.Term{Name: "list", PrefixList: name, Accept: true}
	for _, s := range prefixes {
		p := prefix(s)
		t.Prefixes = append(t.Prefixes, config.PrefixMatch{Prefix: p, MinLen: p.Bits(), MaxLen: 32})
	}
	return config.Policy{Name: name, Terms: []config.Term{t}}
}

func (r *rig) config(policies []config.Policy, neighbors ...config.Neighbor) *config.Config {
	return &config.Config{
		Router:   config.Router{AS: ourAS, ID: netip.MustParseAddr("192.0.2.1")},
		BGP:      &config.BGP{ListenPort: r.port, Neighbors: neighbors},
		Policies: policies,
	}
}

func external(n int, as uint32) config.Neighbor {
	return config.Neighbor{Address: host(n), AS: as, Passive: true, Import: "in", Export: "out"}
}

func (r *rig) apply(c *config.Config) {
	r.Helper()
	if err := r.s.Apply(r.ctx, c); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) dial(n int, as uint32, extra ...bgp.ParameterCapabilityInterface) *bgptest.Session {
	r.Helper()
	p, err := bgptest.Dial(r.ctx, bgptest.Options{Local: host(n), Remote: netip.AddrPortFrom(ours, uint16(r.port)), AS: as, Extra: extra})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(p.Kill)
	return p
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// neighbor waits until the shown state of a neighbour is as it should be.
func (r *rig) neighbor(n int, what string, ok func(Neighbor) bool) Neighbor {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(maxWait)
	for {
		v, _ := r.s.Neighbor(host(n))
		if ok(v) {
			return v
		}
		select {
		case <-tick.C:
		case <-timeout:
			r.Fatalf("waited for %s; neighbour is %+v", what, v)
		}
	}
}

func TestLearnAndWithdraw(t *testing.T) {
	r := newRig(t)
	r.apply(r.config([]config.Policy{everything("in"), everything("out")}, external(2, 64496)))
	p := r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{ASPath: []uint32{64496, 3356}, Communities: []uint32{64496<<16 | 7}}, prefix("198.51.100.0/24"), prefix("203.0.113.0/24")))
	r.must(p.EndOfRIB())
	r.sink.wait(t, "end of RIB", func() bool { return r.sink.eor[host(2)] == 1 })
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	a := r.sink.path(host(2), "198.51.100.0/24")
	if a.Attrs.ASPath != "64496 3356" || a.NextHop != host(2) || a.PeerID != host(2) || a.Attrs.LocalPref != 100 || a.Internal {
		t.Errorf("path %+v attributes %+v", a, a.Attrs)
	}
	if b := r.sink.path(host(2), "203.0.113.0/24"); a != b {
		t.Error("two prefixes of one UPDATE do not share their path")
	}
	r.must(p.Withdraw(prefix("198.51.100.0/24")))
	r.sink.has(t, host(2), "203.0.113.0/24")
	v := r.neighbor(2, "counts", func(n Neighbor) bool { return n.Received == 1 })
	if v.Accepted != 1 || !v.EndOfRIB || v.State != "Established" || v.Note() != "" || len(v.Capabilities) == 0 {
		t.Errorf("neighbour %+v note %q", v, v.Note())
	}
}

func TestKilledPeerIsDownAtOnce(t *testing.T) {
	r := newRig(t)
	r.apply(r.config([]config.Policy{everything("in"), everything("out")}, external(2, 64496)))
	p := r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("198.51.100.0/24")))
	r.sink.has(t, host(2), "198.51.100.0/24")
	p.Kill()
	r.sink.wait(t, "down", func() bool { return len(r.sink.downs[host(2)]) == 1 })
	r.sink.has(t, host(2))
	v := r.neighbor(2, "down", func(n Neighbor) bool { return n.State != "Established" })
	if v.LastDownReason != "the neighbour closed the connection" || v.Received != 0 {
		t.Errorf("%+v", v)
	}
	p = r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	r.sink.has(t, host(2), "203.0.113.0/24")
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
