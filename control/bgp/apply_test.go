package bgp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

// Whatever changes about one neighbour, the session of the other stays.
func TestApplyTouchesOnlyWhatChanged(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("\n secret \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	policies := []config.Policy{everything("in"), everything("out"), everything("in2")}
	tests := []struct {
		name   string
		change func(*config.Neighbor)
		resets bool
	}{
		{"description", func(n *config.Neighbor) { n.Description = "new" }, false},
		{"max_prefixes", func(n *config.Neighbor) { n.MaxPrefixes = 7 }, false},
		{"import policy", func(n *config.Neighbor) { n.Import = "in2" }, false},
		{"no export policy", func(n *config.Neighbor) { n.Export = "" }, false},
		{"prepend", func(n *config.Neighbor) { n.Prepend = 3 }, false},
		{"hold time", func(n *config.Neighbor) { n.HoldTime = 30 * time.Second }, true},
		{"ttl security", func(n *config.Neighbor) { n.TTLSecurity = true }, true},
		{"multihop", func(n *config.Neighbor) { n.Multihop = 5 }, true},
		{"port", func(n *config.Neighbor) { n.Port = 1790 }, true},
		{"password", func(n *config.Neighbor) { n.PasswordFile = key }, true},
	}
	r := newRig(t)
	r.apply(r.config(policies, external(2, 64496), external(3, 64497)))
	stays := r.dial(3, 64497)
	r.must(stays.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	r.sink.has(t, host(3), "203.0.113.0/24")
	since := r.neighbor(3, "up", func(n Neighbor) bool { return n.Received == 1 }).Since

	changing := r.dial(2, 64496)
	r.must(changing.Announce(bgptest.Route{}, prefix("198.51.100.0/24")))
	r.sink.has(t, host(2), "198.51.100.0/24")
	downs := 0
	for _, tt := range tests {
		n := external(2, 64496)
		tt.change(&n)
		r.apply(r.config(policies, n, external(3, 64497)))
		if tt.resets {
			downs++
			r.sink.wait(t, tt.name+" to reset", func() bool { return len(r.sink.downs[host(2)]) == downs })
		}
		if v, _ := r.s.Neighbor(host(2)); int(v.Downs) != downs {
			t.Errorf("%s: %d resets, want %d", tt.name, v.Downs, downs)
		}
		r.apply(r.config(policies, external(2, 64496), external(3, 64497)))
		if tt.resets {
			changing = r.dial(2, 64496)
			r.must(changing.Announce(bgptest.Route{}, prefix("198.51.100.0/24")))
			r.sink.has(t, host(2), "198.51.100.0/24")
		}
	}
	r.apply(r.config(policies, external(3, 64497)))
	r.sink.has(t, host(2))
	if _, ok := r.s.Neighbor(host(2)); ok {
		t.Error("a removed neighbour is still shown")
	}
	v, _ := r.s.Neighbor(host(3))
	if !v.Since.Equal(since) || v.Downs != 0 || stays.State().Done != nil {
		t.Errorf("the other session was touched: %+v, %v", v, stays.State().Done)
	}
	if len(r.s.Neighbors()) != 1 {
		t.Errorf("%d neighbours", len(r.s.Neighbors()))
	}
}

func TestRouterIdentityRestartsAll(t *testing.T) {
	r := newRig(t)
	conf := r.config([]config.Policy{everything("in"), everything("out")}, external(2, 64496))
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	r.apply(conf)
	p := r.dial(2, 64496)
	r.hears(p, map[string]bgptest.Route{"192.0.2.0/24": {NextHop: ours, ASPath: []uint32{ourAS}}})
	conf = r.config([]config.Policy{everything("in"), everything("out")}, external(2, 64496))
	conf.Router.AS = 64510
	r.apply(conf)
	r.sink.wait(t, "down", func() bool { return len(r.sink.downs[host(2)]) == 1 })
	p = r.dial(2, 64496)
	r.hears(p, map[string]bgptest.Route{"192.0.2.0/24": {NextHop: ours, ASPath: []uint32{64510}}})
	r.apply(&config.Config{})
	r.sink.wait(t, "down", func() bool { return len(r.sink.downs[host(2)]) == 2 })
	if len(r.s.Neighbors()) != 0 {
		t.Error("neighbours without BGP")
	}
}

func TestApplyErrorsChangeNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	policies := []config.Policy{everything("in"), everything("out")}
	r.apply(r.config(policies, external(2, 64496)))
	p := r.dial(2, 64496)
	r.sink.wait(t, "up", func() bool { return r.sink.up[host(2)] })
	bad := external(2, 64499)
	bad.PasswordFile = empty
	missing := external(3, 64497)
	missing.PasswordFile = filepath.Join(t.TempDir(), "missing")
	undefined := external(4, 64498)
	undefined.Import = "none"
	err := r.s.Apply(r.ctx, r.config(policies, bad, missing, undefined))
	for _, want := range []string{"neighbor 127.0.0.2: password_file " + empty + " is empty", "neighbor 127.0.0.3: password_file", `policy "none" is not defined`, "nothing was changed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if v := r.s.Neighbors(); len(v) != 1 || v[0].AS != 64496 || v[0].State != "Established" || p.State().Done != nil {
		t.Errorf("%+v", v)
	}
}

func TestPortInUse(t *testing.T) {
	r := newRig(t)
	l, err := net.Listen("tcp", netip.AddrPortFrom(ours, uint16(r.port)).String())
	r.must(err)
	conf := r.config(nil, external(2, 64496))
	conf.BGP.Neighbors[0].Import, conf.BGP.Neighbors[0].Export = "", ""
	if err := r.s.Apply(r.ctx, conf); err == nil || !strings.Contains(err.Error(), "cannot listen on port") {
		t.Errorf("%v", err)
	}
	l.Close()
	r.apply(conf)
	r.dial(2, 64496)
}

func TestOneSpeakerAProcess(t *testing.T) {
	s, err := New(Options{Log: discard(), Sink: newRecorder()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Log: discard(), Sink: newRecorder()}); !errors.Is(err, ErrSecondSpeaker) {
		t.Errorf("%v", err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(context.Background(), &config.Config{}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	s, err = New(Options{Log: discard(), Sink: newRecorder()})
	if err != nil {
		t.Fatal(err)
	}
	s.Close(context.Background())
}

func TestMaxPrefixes(t *testing.T) {
	r := newRig(t)
	r.s.retryAfter = 10 * time.Millisecond
	n := external(2, 64496)
	n.MaxPrefixes = 3
	r.apply(r.config([]config.Policy{only("in", "10.0.0.0/8"), everything("out")}, n, external(3, 64497)))
	other := r.dial(3, 64497)
	r.overrun(3)
	p := r.dial(2, 64496) // after the retry
	r.must(p.Announce(bgptest.Route{}, prefix("10.0.0.0/24")))
	r.sink.has(t, host(2), "10.0.0.0/24")
	if v, _ := r.s.Neighbor(host(2)); !v.RetryAt.IsZero() || v.Note() != "" {
		t.Errorf("%+v note %q", v, v.Note())
	}
	if other.State().Done != nil {
		t.Error("the other session ended")
	}
}

func TestMaxPrefixesRaised(t *testing.T) {
	r := newRig(t)
	n := external(2, 64496)
	n.MaxPrefixes = 3
	policies := []config.Policy{only("in", "10.0.0.0/8"), everything("out")}
	r.apply(r.config(policies, n))
	r.overrun(3)
	v := r.neighbor(2, "retry", func(n Neighbor) bool { return !n.RetryAt.IsZero() })
	if v.State != "Idle" || !strings.HasPrefix(v.Note(), "max-prefix 3 reached, retry in ") {
		t.Errorf("%+v note %q", v, v.Note())
	}
	n.MaxPrefixes = 5 // does not wait for the retry
	r.apply(r.config(policies, n))
	p := r.dial(2, 64496)
	many := []netip.Prefix{prefix("10.0.0.0/24"), prefix("10.0.1.0/24"), prefix("10.0.2.0/24"), prefix("10.0.3.0/24")}
	r.must(p.Announce(bgptest.Route{}, many...))
	r.sink.has(t, host(2), "10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24")
	n.MaxPrefixes = 2 // fewer than there are
	r.apply(r.config(policies, n))
	r.sink.wait(t, "down", func() bool { return len(r.sink.downs[host(2)]) == 2 })
}

// overrun announces limit prefixes, of which the import policy refuses one, and then
// one more.
func (r *rig) overrun(limit int) {
	r.Helper()
	p := r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("10.0.0.0/24"), prefix("10.0.1.0/24"), prefix("198.51.100.0/24")))
	r.sink.has(r.T, host(2), "10.0.0.0/24", "10.0.1.0/24")
	r.must(p.Announce(bgptest.Route{}, prefix("10.0.2.0/24")))
	want := fmt.Sprintf("max-prefix %d reached", limit)
	r.sink.wait(r.T, want, func() bool { return len(r.sink.downs[host(2)]) == 1 && r.sink.downs[host(2)][0] == want })
	end, err := p.Wait(r.ctx, func(s bgptest.State) bool { return s.Done != nil })
	if err != nil || end.Notification == nil || end.Notification.ErrorCode != 6 || end.Notification.ErrorSubcode != 1 {
		r.Errorf("notification %+v, %v", end.Notification, err)
	}
}
