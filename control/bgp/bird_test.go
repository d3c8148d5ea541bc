package bgp

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"routerd/config"
)

// bird is a running BIRD 2 with one session to us.
type bird struct {
	socket string
	cmd    *exec.Cmd
}

// startBIRD runs BIRD on 127.0.0.2 with two static routes to announce. extra goes into its
// BGP protocol, flags to its command line.
func startBIRD(t *testing.T, port, theirPort int, extra string, flags ...string) *bird {
	t.Helper()
	path := findBIRD(t, "bird")
	findBIRD(t, "birdc")
	dir := t.TempDir()
	b := &bird{socket: filepath.Join(dir, "ctl")}
	text := fmt.Sprintf(`
router id 192.0.2.2;
protocol device {}
ipv4 table master4;
protocol static {
  ipv4;
  route 198.51.100.0/24 blackhole { bgp_community.add((64496, 7)); bgp_large_community.add((64496, 1, 2)); };
  route 203.0.113.0/24 blackhole;
}
protocol bgp up {
  local 127.0.0.2 port %d as 64496;
  neighbor 127.0.0.1 port %d as %d;
  multihop 2;
  strict bind yes;
  connect delay time 1;
  %s
  ipv4 { import all; export where source = RTS_STATIC; next hop self; };
}
`, port, theirPort, ourAS, extra)
	conf := filepath.Join(dir, "bird.conf")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append(flags, "-f", "-c", conf, "-s", b.socket, "-P", filepath.Join(dir, "pid"))...)
	b.cmd = cmd
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("BIRD said: %s", out.String())
		}
	})
	return b
}

func findBIRD(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/", "/usr/local/sbin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed (Debian: apt-get install bird2)", name)
	return ""
}

// wait asks BIRD until its answer to a command contains want.
func (b *bird) wait(ctx context.Context, t *testing.T, command string, want ...string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	birdc := findBIRD(t, "birdc")
	var said []byte
	for {
		said, _ = exec.CommandContext(ctx, birdc, append([]string{"-r", "-s", b.socket}, strings.Fields(command)...)...).CombinedOutput()
		all := true
		for _, w := range want {
			all = all && strings.Contains(string(said), w)
		}
		if all {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("birdc %s: waited for %q in\n%s", command, want, said)
		}
	}
}

// lacks asks BIRD once and complains when its answer contains what.
func (b *bird) lacks(ctx context.Context, t *testing.T, command, what string) {
	t.Helper()
	said, _ := exec.CommandContext(ctx, findBIRD(t, "birdc"), append([]string{"-r", "-s", b.socket}, strings.Fields(command)...)...).CombinedOutput()
	if strings.Contains(string(said), what) {
		t.Errorf("birdc %s says\n%s", command, said)
	}
}

func TestBIRD(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*config.Neighbor)
		extra  string
	}{
		{"it connects", func(n *config.Neighbor) { n.Passive = true }, ""},
		{"we connect", func(*config.Neighbor) {}, "passive on;"},
		{"it connects with password", func(n *config.Neighbor) { n.Passive, n.PasswordFile = true, key }, `password "correct horse";`},
		{"we connect with password", func(n *config.Neighbor) { n.PasswordFile = key }, `passive on; password "correct horse";`},
		{"it connects with TTL security", func(n *config.Neighbor) { n.Passive, n.TTLSecurity = true, true }, "ttl security on;"},
		{"we connect with TTL security", func(n *config.Neighbor) { n.TTLSecurity = true }, "passive on; ttl security on;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			port := freePort(t)
			b := startBIRD(t, port, r.port, tt.extra)
			n := config.Neighbor{Address: host(2), AS: 64496, Port: port, Import: "in", Export: "out", Multihop: 2}
			tt.change(&n)
			r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
			r.apply(r.config([]config.Policy{everything("in"), only("out", "192.0.2.0/24")}, n))
			r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
			a := r.sink.path(host(2), "198.51.100.0/24").Attrs
			if a.ASPath != "64496" || len(a.Communities) != 1 || len(a.Large) != 1 || a.Large[0] != (LargeCommunity{64496, 1, 2}) {
				t.Errorf("%+v", a)
			}
			b.wait(r.ctx, t, "show route all protocol up", "192.0.2.0/24", fmt.Sprintf("BGP.as_path: %d", ourAS), "BGP.next_hop: 127.0.0.1")
			r.s.Announce(nil)
			b.wait(r.ctx, t, "show protocols all up", "Routes:         0 imported, 2 exported")
		})
	}
}

// BIRD dies and comes back, by itself as a helper or as a router that has kept its
// forwarding state (-R).
func TestBIRDRestarts(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	b := startBIRD(t, port, r.port, "graceful restart on;")
	n := config.Neighbor{Address: host(2), AS: 64496, Port: port, Import: "in", Export: "out", Multihop: 2, Passive: true}
	r.s.Announce([]netip.Prefix{prefix("192.0.2.0/24")})
	r.apply(r.gracefully(time.Minute, n))
	r.neighbor(2, "End-of-RIB", func(n Neighbor) bool { return n.EndOfRIB && n.Accepted == 2 })
	r.must(b.cmd.Process.Kill())
	r.sink.wait(t, "the restart", func() bool { return r.sink.restarts[host(2)] == 1 })
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	if v, _ := r.s.Neighbor(host(2)); v.Stale != 2 {
		t.Errorf("%+v", v)
	}
	b = startBIRD(t, port, r.port, "graceful restart on;", "-R")
	r.sink.wait(t, "the sweep", func() bool { return r.sink.sweeps[host(2)] == 1 })
	v := r.neighbor(2, "back", func(n Neighbor) bool { return n.State == "Established" && n.Accepted == 2 })
	if !v.EndOfRIB || v.Downs != 1 {
		t.Errorf("%+v", v)
	}
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	if d := r.sink.downsOf(host(2)); len(d) > 0 {
		t.Errorf("down: %v", d)
	}
	// Our stop is no restart to it: our prefix is gone at once.
	b.wait(r.ctx, t, "show route protocol up", "192.0.2.0/24")
	r.must(r.s.Close(r.ctx))
	b.wait(r.ctx, t, "show protocols all up", "Received: Administrative shutdown")
	b.lacks(r.ctx, t, "show route protocol up", "192.0.2.0/24")
}

// A password removed from a neighbour leaves no key behind, and a wrong one no session.
func TestBIRDPasswordChanges(t *testing.T) {
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right"), filepath.Join(dir, "wrong")
	os.WriteFile(right, []byte("right"), 0o600)
	os.WriteFile(wrong, []byte("wrong"), 0o600)
	r := newRig(t)
	port := freePort(t)
	startBIRD(t, port, r.port, "")
	n := config.Neighbor{Address: host(2), AS: 64496, Port: port, Import: "in", Export: "out", Multihop: 2, Passive: true, PasswordFile: right}
	r.apply(r.config(permissive(), n)) // BIRD has none
	n.PasswordFile = ""
	r.apply(r.config(permissive(), n))
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
	n.PasswordFile = wrong
	r.apply(r.config(permissive(), n))
	r.sink.has(t, host(2))
	r.apply(r.config(permissive()))
	n.PasswordFile = ""
	r.apply(r.config(permissive(), n))
	r.sink.has(t, host(2), "198.51.100.0/24", "203.0.113.0/24")
}
