package bgp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

// gracefully is a configuration with graceful restart.
func (r *rig) gracefully(limit time.Duration, neighbors ...config.Neighbor) *config.Config {
	c := r.config(permissive(), neighbors...)
	c.BGP.GracefulRestart = limit
	return c
}

// offers is what we say of graceful restart in an OPEN, in words.
func offers(p *bgptest.Session) string {
	c, ok := p.Capability(bgp.BGP_CAP_GRACEFUL_RESTART).(*bgp.CapGracefulRestart)
	if !ok {
		return "nothing"
	}
	text := fmt.Sprintf("%ds flags %x", c.Time, c.Flags)
	for _, t := range c.Tuples {
		text += fmt.Sprintf(" %d/%d flags %x", t.AFI, t.SAFI, t.Flags)
	}
	return text
}

func TestRestartOffered(t *testing.T) {
	tests := []struct {
		name       string
		limit      time.Duration
		restarting bool
		want       string
		wantLater  string
	}{
		{"off", 0, true, "nothing", "nothing"},
		{"fresh start", 90 * time.Second, false, "90s flags 0 1/1 flags 0", "90s flags 0 1/1 flags 0"},
		{"restart", 90 * time.Second, true, "90s flags 8 1/1 flags 80", "90s flags 0 1/1 flags 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRigWith(t, Options{Restarting: tt.restarting})
			r.apply(r.gracefully(tt.limit, external(2, 64496)))
			p := r.dial(2, 64496)
			if d := cmp.Diff(tt.want, offers(p)); d != "" {
				t.Error(d)
			}
			r.sink.wait(t, "up", func() bool { return r.sink.up[host(2)] })
			r.must(p.Notify(6, 4))
			if d := cmp.Diff(tt.wantLater, offers(r.dial(2, 64496))); d != "" {
				t.Error("second session: ", d)
			}
		})
	}
}

// What we send after our restart ends with End-of-RIB and is complete then: our own
// prefixes and what every neighbour that restarts gracefully has told us.
func TestEndOfRIBAfterRestart(t *testing.T) {
	r := newRigWith(t, Options{Restarting: true})
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	r.apply(r.gracefully(time.Hour, external(2, 64496), external(3, 64497), external(4, 64498)))
	capability := bgptest.GracefulRestart(time.Minute, false)
	a, b, without := r.dial(2, 64496, capability), r.dial(3, 64497, capability), r.dial(4, 64498)
	r.must(a.EndOfRIB())
	r.sink.wait(t, "its End-of-RIB", func() bool { return r.sink.eor[host(2)] == 1 })
	r.must(b.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	r.sink.has(t, host(3), "203.0.113.0/24")
	for _, p := range []*bgptest.Session{a, b, without} {
		if s := p.State(); s.Updates > 0 || s.EndOfRIB {
			t.Errorf("told %v, end of RIB %v, before every neighbour had sent its End-of-RIB", s.Routes, s.EndOfRIB)
		}
	}
	r.must(b.EndOfRIB())
	own := bgptest.Route{NextHop: ours, ASPath: []uint32{ourAS}}
	passed := bgptest.Route{NextHop: ours, ASPath: []uint32{ourAS, 64497}}
	want := map[netip.Prefix]bgptest.Route{prefix("192.0.2.0/24"): own, prefix("203.0.113.0/24"): passed}
	s, err := a.Wait(r.ctx, func(s bgptest.State) bool { return s.EndOfRIB })
	r.must(err)
	if d := cmp.Diff(want, s.AtEndOfRIB, sameRoutes); d != "" {
		t.Error("at End-of-RIB: ", d)
	}
	r.hears(without, map[string]bgptest.Route{"192.0.2.0/24": own, "203.0.113.0/24": passed})
}

// A neighbour that is down when we restart keeps the others waiting for the restart time
// at most. When it comes at last, it is told nothing of the restart.
func TestRestartWithDeadNeighbor(t *testing.T) {
	r := newRigWith(t, Options{Restarting: true})
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	added := &freeze{at: "Add a peer configuration", reached: make(chan struct{}), release: make(chan struct{})}
	close(added.release)
	r.apply(r.gracefully(2*time.Second, external(2, 64496), external(3, 64497)))
	r.log.freeze.Store(added)
	a := r.dial(2, 64496, bgptest.GracefulRestart(time.Minute, false))
	r.must(a.EndOfRIB())
	s, err := a.Wait(r.ctx, func(s bgptest.State) bool { return s.EndOfRIB })
	r.must(err)
	if len(s.AtEndOfRIB) != 1 {
		t.Errorf("at End-of-RIB: %v", s.AtEndOfRIB)
	}
	select {
	case <-added.reached:
	case <-r.ctx.Done():
		t.Fatal("the neighbour that never came up is not renewed")
	}
	late := r.dial(3, 64497)
	if got := offers(late); got != "2s flags 0 1/1 flags 0" {
		t.Errorf("a late neighbour is told %s", got)
	}
	r.hears(late, map[string]bgptest.Route{"192.0.2.0/24": {NextHop: ours, ASPath: []uint32{ourAS}}})
	if a.State().Done != nil {
		t.Error("the other session ended")
	}
}

// A neighbour that restarts: its routes stay, here and for the other neighbours, until it
// has told everything anew.
func TestNeighborRestarts(t *testing.T) {
	r := newRig(t)
	r.apply(r.gracefully(time.Minute, external(2, 64496), external(3, 64497)))
	other := r.dial(3, 64497)
	r.neighbor(3, "up", func(n Neighbor) bool { return n.State == "Established" })
	p := r.dial(2, 64496, bgptest.GracefulRestart(time.Minute, false))
	r.must(p.Announce(bgptest.Route{}, prefix("198.51.100.0/24"), prefix("203.0.113.0/24")))
	both := bgptest.Route{NextHop: ours, ASPath: []uint32{ourAS, 64496}}
	r.hears(other, map[string]bgptest.Route{"198.51.100.0/24": both, "203.0.113.0/24": both})
	p.Kill()
	r.sink.wait(t, "the restart", func() bool { return r.sink.restarts[host(2)] == 1 })
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	v := r.neighbor(2, "restarting", func(n Neighbor) bool { return !n.StaleUntil.IsZero() })
	if v.State == "Established" || v.Stale != 2 || !strings.HasPrefix(v.Note(), "restarting: 2 routes kept for ") {
		t.Errorf("%+v, note %q", v, v.Note())
	}
	p = r.dial(2, 64496, bgptest.GracefulRestart(time.Minute, true))
	r.must(p.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	v = r.neighbor(2, "back", func(n Neighbor) bool { return n.Received == 1 })
	if !strings.Contains(v.Note(), "kept until its End-of-RIB") {
		t.Errorf("%+v, note %q", v, v.Note())
	}
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	r.must(p.EndOfRIB())
	r.sink.wait(t, "the sweep", func() bool { return r.sink.sweeps[host(2)] == 1 })
	r.sink.has(t, host(2), "203.0.113.0/24")
	r.hears(other, map[string]bgptest.Route{"203.0.113.0/24": both})
	r.neighbor(2, "nothing to say", func(n Neighbor) bool { return n.Note() == "" && n.StaleUntil.IsZero() })
	if d := r.sink.downsOf(host(2)); len(d) > 0 {
		t.Errorf("down: %v", d)
	}
}

// What is no restart takes the routes away at once, here and for the other neighbours.
func TestNoRestart(t *testing.T) {
	minute := bgptest.GracefulRestart(time.Minute, false)
	tests := []struct {
		name string
		with []bgp.ParameterCapabilityInterface
		conf func(*config.Neighbor)
		end  func(*rig, *bgptest.Session)
		want string // how it is down
	}{
		{"notification", []bgp.ParameterCapabilityInterface{minute}, nil,
			func(r *rig, p *bgptest.Session) { r.must(p.Notify(6, 2)) }, "received Cease: administrative shutdown (6/2)"},
		{"hold timer", []bgp.ParameterCapabilityInterface{minute}, func(n *config.Neighbor) { n.HoldTime = 3 * time.Second },
			func(*rig, *bgptest.Session) {}, "sent hold timer expired (4/0)"},
		{"error of the neighbour", []bgp.ParameterCapabilityInterface{minute}, nil,
			func(r *rig, p *bgptest.Session) { r.must(p.SendRaw(hostileUpdates["message type 0"])) },
			"sent message header error: bad message type (1/3)"},
		{"max_prefixes", []bgp.ParameterCapabilityInterface{minute}, func(n *config.Neighbor) { n.MaxPrefixes = 1 },
			func(r *rig, p *bgptest.Session) { r.must(p.Announce(bgptest.Route{}, prefix("10.99.0.0/16"))) }, "max-prefix 1 reached"},
		{"no restart time", []bgp.ParameterCapabilityInterface{bgptest.GracefulRestart(0, false)}, nil,
			func(_ *rig, p *bgptest.Session) { p.Kill() }, "the connection to the neighbour broke"},
		{"aware only", []bgp.ParameterCapabilityInterface{bgp.NewCapGracefulRestart(false, false, 60, nil)}, nil,
			func(_ *rig, p *bgptest.Session) { p.Kill() }, "the connection to the neighbour broke"},
		{"no graceful restart", nil, nil,
			func(_ *rig, p *bgptest.Session) { p.Kill() }, "the neighbour closed the connection"},
	}
	r := newRig(t)
	neighbors := []config.Neighbor{external(2, 64497)}
	heard := map[string]bgptest.Route{}
	for i, tt := range tests {
		n := external(10+i, 64496)
		if tt.conf != nil {
			tt.conf(&n)
		}
		neighbors = append(neighbors, n)
		heard[fmt.Sprintf("10.%d.0.0/16", i)] = bgptest.Route{NextHop: ours, ASPath: []uint32{ourAS, 64496}}
	}
	r.apply(r.gracefully(time.Minute, neighbors...))
	other := r.dial(2, 64497)
	var sessions []*bgptest.Session
	for i, tt := range tests {
		p := r.dial(10+i, 64496, tt.with...)
		r.must(p.Announce(bgptest.Route{}, prefix(fmt.Sprintf("10.%d.0.0/16", i))))
		r.sink.wait(t, tt.name, func() bool { return len(r.sink.table[host(10+i)]) == 1 })
		sessions = append(sessions, p)
	}
	for i, tt := range tests {
		tt.end(r, sessions[i])
		r.sink.wait(t, tt.name+" to end", func() bool { return len(r.sink.downs[host(10+i)]) == 1 })
		if d := cmp.Diff(tt.want, r.sink.downsOf(host(10 + i))[0]); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	r.hears(other, nil)
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	if len(r.sink.restarts) > 0 {
		t.Errorf("taken for restarts: %v", r.sink.restarts)
	}
}

// How the time of a neighbour that restarts can end.
func TestRestartEnds(t *testing.T) {
	minute := bgptest.GracefulRestart(time.Minute, false)
	r := newRig(t)
	conf := r.gracefully(time.Minute, external(2, 64496), external(3, 64496), external(4, 64496), external(5, 64496), external(6, 64497), external(7, 64496), external(8, 64496))
	r.apply(conf)
	other := r.dial(6, 64497)
	for n, capability := range map[int]bgp.ParameterCapabilityInterface{2: minute, 3: minute, 4: minute, 7: minute, 8: minute, 5: bgptest.GracefulRestart(time.Second, false)} {
		p := r.dial(n, 64496, capability)
		r.must(p.Announce(bgptest.Route{}, prefix(fmt.Sprintf("10.%d.0.0/16", n))))
		r.sink.wait(t, "its route", func() bool { return len(r.sink.table[host(n)]) == 1 })
		p.Kill()
		r.sink.wait(t, "the restart", func() bool { return r.sink.restarts[host(n)] == 1 })
	}
	swept := func(n int, why string) {
		t.Helper()
		r.sink.wait(t, why, func() bool { return r.sink.sweeps[host(n)] == 1 })
		r.sink.has(t, host(n))
	}
	swept(5, "the end of its second")
	conf.BGP.Neighbors = slices.Delete(conf.BGP.Neighbors, 2, 3)
	conf.BGP.Neighbors[4].Import = ""
	conf.BGP.Neighbors[5].HoldTime = time.Hour
	r.apply(conf)
	swept(4, "its removal")
	swept(7, "the change of its policy")
	swept(8, "the change of its hold time")
	back := r.dial(2, 64496, minute)
	swept(2, "its return without forwarding state")
	r.must(back.EndOfRIB()) // until then GoBGP goes on to pass its routes on
	r.dial(3, 64496)
	swept(3, "its return without graceful restart")
	anew := r.dial(3, 64496)
	r.must(anew.Announce(bgptest.Route{}, prefix("10.33.0.0/16")))
	r.sink.has(t, host(3), "10.33.0.0/16")
	r.must(anew.Withdraw(prefix("10.33.0.0/16")))
	r.hears(other, nil)
	if len(r.sink.downsOf(host(6))) > 0 {
		t.Errorf("the other session: %v", r.sink.downsOf(host(6)))
	}
}

// No neighbour takes our stop for a restart.
func TestCloseIsNoRestart(t *testing.T) {
	r := newRig(t)
	r.apply(r.gracefully(time.Minute, external(2, 64496), external(3, 64497)))
	a, b := r.dial(2, 64496, bgptest.GracefulRestart(time.Minute, false)), r.dial(3, 64497)
	for n := 2; n <= 3; n++ {
		r.neighbor(n, "up", func(n Neighbor) bool { return n.State == "Established" })
	}
	r.must(r.s.Close(r.ctx))
	for _, p := range []*bgptest.Session{a, b} {
		s, err := p.Wait(r.ctx, func(s bgptest.State) bool { return s.Done != nil })
		r.must(err)
		if n := s.Notification; n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 2 {
			t.Errorf("notification %+v, want 6/2", n)
		}
	}
}
