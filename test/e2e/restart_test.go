//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"routerd/control/api"
	"routerd/fib"
	"routerd/test/lab"
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
