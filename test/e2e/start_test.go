//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"routerd/control/api"
	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

// programs is the directory of routerd, routerctl and speaker.
var programs string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "routerd-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // a test runs routerd as another user
		return 1, err
	}
	if _, err := lab.Build(dir, "routerd/cmd/routerd", "routerd/cmd/routerctl", "routerd/test/speaker"); err != nil {
		return 1, err
	}
	programs = dir
	return m.Run(), nil
}

// world is a network with a router in it, for one test.
type world struct {
	*edge.Network
	t      testing.TB
	ctx    context.Context
	router *edge.Router
}

// lay builds a network whose router is configured and not started.
func lay(t testing.TB, upstreams int, limit time.Duration, programsNeeded ...string) *world {
	t.Helper()
	l := lab.Require(t, programsNeeded...)
	w := &world{t: t, ctx: lab.Deadline(t, limit)}
	var err error
	w.Network, err = edge.Lay(l, upstreams)
	w.try(err)
	w.router, err = w.NewRouter(programs, "")
	w.try(err)
	return w
}

// start is lay with the router started.
func start(t testing.TB, upstreams int, limit time.Duration, programsNeeded ...string) *world {
	t.Helper()
	w := lay(t, upstreams, limit, programsNeeded...)
	w.try(w.router.Start(w.ctx))
	return w
}

func (w *world) try(errs ...error) {
	w.t.Helper()
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}

// speak lets an upstream announce prefixes and waits until the FIB has them.
func (w *world) speak(upstream int, prefixes ...string) *lab.Process {
	w.t.Helper()
	u := w.Upstreams[upstream]
	p, err := u.Speak(programs+"/speaker", prefixes...)
	w.try(err, w.router.AwaitSession(w.ctx, u.Address))
	for _, prefix := range prefixes {
		w.try(w.router.AwaitRoute(w.ctx, prefix, u.Address))
	}
	return p
}

// port opens a packet socket on a host's interface for the test's time.
func (w *world) port(s probe.Space) *probe.Port {
	w.t.Helper()
	p, err := probe.Open(s, "eth0")
	w.try(err)
	w.t.Cleanup(func() { _ = p.Close() })
	return p
}

// drops returns the router's drop counters by reason, and their sum.
func (w *world) drops() (map[string]uint64, uint64) {
	w.t.Helper()
	d, err := w.router.API.Drops(w.ctx, "", false)
	w.try(err)
	byReason, sum := map[string]uint64{}, uint64(0)
	for _, r := range d.Drops {
		byReason[r.Reason] = r.Packets
		sum += r.Packets
	}
	return byReason, sum
}

func (w *world) status() api.Status {
	w.t.Helper()
	s, err := w.router.API.Status(w.ctx)
	w.try(err)
	return s
}

func (w *world) neighbor(a netip.Addr) api.BGPNeighbor {
	w.t.Helper()
	b, err := w.router.API.BGP(w.ctx, a.String())
	w.try(err)
	n, ok := b.Find(a.String())
	if !ok {
		w.t.Fatalf("show bgp knows no neighbor %s", a)
	}
	return n
}

// window is three bursts of a flood, less than the 256 slots of a veth.
const window = 192

// flood starts a stream from the LAN to an upstream and waits for its first packets.
// One packet goes ahead, so that the stream meets a resolved next hop.
func (w *world) flood(upstream int, dst []netip.Addr) *probe.Stream {
	w.t.Helper()
	from, to := w.port(w.LAN), w.port(w.Upstreams[upstream])
	gateway, err := w.Router.MAC("lan0")
	w.try(err)
	first := probe.UDP{
		SrcMAC: from.MAC, DstMAC: gateway, TTL: 64,
		Src: netip.AddrPortFrom(edge.LANHost, 4000), Dst: netip.AddrPortFrom(dst[0], 4000),
	}
	w.try(from.Send(first.Frame()))
	_, err = to.ReceiveUDP(w.ctx, func(u probe.UDP) bool { return u.Dst == first.Dst })
	w.try(err)
	s, err := probe.Flood{
		SrcMAC: from.MAC, DstMAC: gateway, Src: edge.LANHost, Dst: dst, TTL: 64, Hops: 1, PacketsPerSec: 10000, Window: window,
	}.Start(from, to)
	w.try(err)
	w.arrive(s, 1000)
	return s
}

// arrive waits until n more packets of a flood have arrived.
func (w *world) arrive(s *probe.Stream, n uint64) {
	w.t.Helper()
	goal := s.Received() + n
	w.try(lab.Await(w.ctx, fmt.Sprintf("%d packets of the flood", goal), func() error {
		if got := s.Received(); got < goal {
			return fmt.Errorf("%d arrived", got)
		}
		return nil
	}))
}

// addresses returns the first n host addresses of a prefix.
func addresses(prefix string, n int) []netip.Addr {
	a := netip.MustParsePrefix(prefix).Addr()
	list := make([]netip.Addr, n)
	for i := range list {
		a = a.Next()
		list[i] = a
	}
	return list
}
