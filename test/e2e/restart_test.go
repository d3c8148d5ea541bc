//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"routerd/control/api"
	"routerd/fib"
	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

const lost = "198.18.0.0/15" // announced before a restart, not after

func TestKilledControlProcessCostsNoPacket(t *testing.T) {
	w := lay(t, 1, 2*time.Minute)
	// Some neighbours never send End-of-RIB: the time after which they are not waited for.
	config := strings.Replace(w.Config(w.router.Socket, ""), "bgp {", "bgp {\n  graceful_restart = \"15s\"", 1)
	w.try(w.router.WriteConfig(config), w.router.Start(w.ctx))
	speaker := w.speak(0, far, lost)
	plane := w.status().Dataplane.PID
	stream := w.flood(0, addresses(far, 100))

	_, err := w.router.Stop(w.ctx, syscall.SIGKILL)
	w.try(err)
	w.arrive(stream, 10000)
	_, err = speaker.Stop(w.ctx, syscall.SIGTERM)
	w.try(err, w.router.Start(w.ctx))
	if got := w.status().Dataplane.PID; got != plane {
		t.Errorf("forwarding process is %d, was %d", got, plane)
	}
	w.arrive(stream, 5000)
	for _, prefix := range []string{far, lost} {
		if e := w.fibEntry(prefix); !e.Stale {
			t.Errorf("%s before its neighbour is back: %+v, want it stale", prefix, e)
		}
	}
	live, gone := w.live(), netip.MustParsePrefix(lost).Addr().Next()
	if got := live.nextHop(gone); got.Gateway != w.Upstreams[0].Address {
		t.Errorf("before the neighbour is back, packets to %s meet %+v", gone, got)
	}
	w.speak(0, far)
	w.try(lab.Await(w.ctx, "the sweep", func() error {
		if got := live.nextHop(gone); got != (fib.NextHop{}) {
			return fmt.Errorf("packets to %s meet %+v", gone, got)
		}
		return nil
	}))
	if e := w.fibEntry(far); e.Stale || e.Source != api.SourceEBGP {
		t.Errorf("%s after its neighbour is back: %+v", far, e)
	}
	w.arrive(stream, 5000)
	report, err := stream.Stop()
	w.try(err)
	t.Log(report)
	if !report.Clean() {
		t.Error("the flood did not pass unharmed")
	}
}

// The upstream's kernel routes to our LAN on what BIRD learned from us, so what it sends
// arrives only as long as BIRD keeps our prefix (RFC 4724).
func TestKilledControlProcessKeepsItsPrefixes(t *testing.T) {
	w := start(t, 1, 2*time.Minute, "bird", "birdc")
	u := w.Upstreams[0]
	behind, bird := w.transit()
	w.try(w.router.AwaitRoute(w.ctx, lost, u.Address))
	replies, err := probe.Ping(w.LAN, edge.LANHost, behindHost, 3, replyWait) // every next hop is resolved then
	w.try(err)
	if len(replies) == 0 || replies[0].TTL != 62 {
		t.Fatalf("replies %+v, want TTL 62", replies)
	}
	out := w.stream(w.LAN, behind, edge.LANHost, behindHost, w.mac(w.Router, "lan0"))
	in := w.stream(behind, w.LAN, behindHost, edge.LANHost, w.mac(u.Namespace, "in0"))
	w.arrive(out, 5000)
	w.arrive(in, 5000)

	_, err = w.router.Stop(w.ctx, syscall.SIGKILL)
	w.try(err)
	w.arrive(out, 10000) // a second
	w.arrive(in, 10000)
	_, err = bird.Query("disable lost")
	w.try(err, w.router.Start(w.ctx))
	began := time.Now()
	w.try(w.router.AwaitSession(w.ctx, u.Address))
	t.Logf("Established %.1f s after the start", time.Since(began).Seconds())
	w.try(w.router.AwaitNoRoute(w.ctx, lost), w.router.AwaitRoute(w.ctx, far, u.Address))
	t.Logf("swept %.1f s after the start", time.Since(began).Seconds())
	log, err := w.router.AwaitLine(w.ctx, "stale routes swept|has sent its End-of-RIB in time")
	w.try(err)
	if !strings.Contains(log, "stale routes swept") {
		t.Errorf("the sweep did not come with End-of-RIB: %s", log)
	}
	w.try(lab.Await(w.ctx, "our End-of-RIB at BIRD", func() error {
		said, err := bird.Query("show protocols all edge")
		if err == nil && strings.Contains(said, "Neighbor graceful restart active") {
			err = errors.New(said)
		}
		return err
	}))
	w.arrive(out, 20000)
	w.arrive(in, 20000)
	if n := w.neighbor(u.Address); n.State != api.SessionEstablished || len(n.Notes) > 0 {
		t.Errorf("neighbor %+v", n)
	}
	for name, s := range map[string]*probe.Stream{"out of the LAN": out, "into the LAN": in} {
		report, err := s.Stop()
		w.try(err)
		t.Logf("%s: %v", name, report)
		if !report.Clean() {
			t.Errorf("the flood %s did not pass unharmed", name)
		}
	}
}

var behindHost = netip.MustParseAddr("203.0.113.10")

// transit makes the upstream a router with a host behind it: BIRD announces far and lost,
// and puts what it learns into the kernel.
func (w *world) transit() (behind *lab.Namespace, bird *lab.BIRD) {
	w.t.Helper()
	u := w.Upstreams[0]
	behind, err := w.Namespace("behind")
	w.try(err, w.Connect(
		lab.End{Space: behind, Name: "eth0", Addresses: []string{behindHost.String() + "/24"}},
		lab.End{Space: u.Namespace, Name: "in0", Addresses: []string{"203.0.113.1/24"}}))
	w.try(behind.IP("route", "add", "default", "via", "203.0.113.1"),
		u.IP("route", "del", edge.LANSubnet), u.Sysctl("net.ipv4.ip_forward", "1"))
	bird, err = u.StartBIRD(w.ctx, "bird", fmt.Sprintf(`
		router id %s;
		log stderr all;
		protocol device {}
		protocol kernel { ipv4 { export where source = RTS_BGP; }; }
		protocol static announced { ipv4; route %s blackhole; }
		protocol static lost { ipv4; route %s blackhole; }
		protocol bgp edge {
			local %s as %d;
			neighbor %s as %d;
			connect delay time 1;
			ipv4 { import all; export where source = RTS_STATIC; };
		}`, u.Address, far, lost, u.Address, u.AS, u.Router, edge.RouterAS))
	w.try(err, w.router.AwaitSession(w.ctx, u.Address))
	w.try(lab.Await(w.ctx, "the upstream's kernel to know the way to our LAN", func() error {
		out, err := u.Output("ip", "route", "show", edge.LANSubnet)
		if err == nil && !strings.Contains(string(out), "proto bird") {
			err = fmt.Errorf("it has %q", out)
		}
		return err
	}))
	return behind, bird
}

func (w *world) mac(space *lab.Namespace, ifname string) net.HardwareAddr {
	w.t.Helper()
	mac, err := space.MAC(ifname)
	w.try(err)
	return mac
}

// stream floods from one host to another over two routers.
func (w *world) stream(from, to probe.Space, src, dst netip.Addr, gateway net.HardwareAddr) *probe.Stream {
	w.t.Helper()
	out := w.port(from)
	s, err := probe.Flood{SrcMAC: out.MAC, DstMAC: gateway, Src: src, Dst: []netip.Addr{dst}, TTL: 64, Hops: 2, PacketsPerSec: 10000, Window: window}.
		Start(out, w.port(to))
	w.try(err)
	return s
}

func (w *world) fibEntry(prefix string) api.FIBEntry {
	w.t.Helper()
	q := api.Query{Prefix: netip.MustParsePrefix(prefix)}
	entries, err := w.router.FIB(w.ctx, api.FIBQuery{Query: q})
	w.try(err)
	if len(entries) != 1 {
		w.t.Fatalf("the FIB has %d entries for %s", len(entries), prefix)
	}
	return entries[0]
}

func TestCrashedForwardingProcessIsReplaced(t *testing.T) {
	w := start(t, 1, 2*time.Minute)
	w.speak(0, far)
	plane := w.status().Dataplane.PID
	stream := w.flood(0, addresses(far, 100))
	if !w.hasXDP("lan0") || !w.hasXDP("up0") {
		t.Error("no XDP program on the ports while routerd runs")
	}

	// The control process must not mend it before we have looked.
	w.try(w.router.Signal(syscall.SIGSTOP), syscall.Kill(plane, syscall.SIGKILL))
	w.try(lab.Await(w.ctx, "the XDP programs to be gone", func() error {
		if w.hasXDP("lan0") || w.hasXDP("up0") {
			return errors.New("still there")
		}
		return nil
	}))
	w.try(w.router.Signal(syscall.SIGCONT))
	w.try(lab.Await(w.ctx, "another forwarding process", func() error {
		pid, err := w.router.DataplanePID(w.ctx)
		if err == nil && (pid == 0 || pid == plane) {
			err = fmt.Errorf("forwarding process %d, the killed one was %d", pid, plane)
		}
		return err
	}))
	w.arrive(stream, 10000)
	report, err := stream.Stop()
	w.try(err)
	t.Log(report)
	if report.Damaged+report.Duplicated > 0 {
		t.Error("packets came damaged or twice")
	}
	if got := w.neighbor(w.Upstreams[0].Address); got.LastDown != nil {
		t.Errorf("the crash took the BGP session down: %+v", got.LastDown)
	}
}

func (w *world) hasXDP(ifname string) bool {
	w.t.Helper()
	out, err := w.Router.Output("ip", "-d", "link", "show", "dev", ifname)
	w.try(err)
	return strings.Contains(string(out), "prog/xdp")
}
