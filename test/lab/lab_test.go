//go:build linux

package lab_test

import (
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"routerd/test/lab"
	"routerd/test/probe"
)

var (
	upstream = netip.MustParseAddr("198.51.100.1")
	host     = netip.MustParseAddr("192.0.2.10")
)

// routed builds host - router - upstream with the kernel as the router.
func routed(t *testing.T) (up, router, lan *lab.Namespace) {
	t.Helper()
	l := lab.Require(t)
	space := func(name string) *lab.Namespace {
		n, err := l.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	up, router, lan = space("up"), space("router"), space("lan")
	try(t,
		l.Connect(
			lab.End{Space: up, Name: "eth0", Addresses: []string{"198.51.100.1/30"}},
			lab.End{Space: router, Name: "up0", Addresses: []string{"198.51.100.2/30"}, Router: true}),
		l.Connect(
			lab.End{Space: lan, Name: "eth0", Addresses: []string{"192.0.2.10/27"}},
			lab.End{Space: router, Name: "lan0", Addresses: []string{"192.0.2.1/27"}, Router: true}),
		up.IP("route", "add", "default", "via", "198.51.100.2"),
		lan.IP("route", "add", "default", "via", "192.0.2.1"),
		router.Sysctl("net.ipv4.ip_forward", "1"),
	)
	return up, router, lan
}

func try(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestKernelForwardsPingAndUDP(t *testing.T) {
	up, _, lan := routed(t)
	replies, err := probe.Ping(lan, host, upstream, 3, 5*time.Second)
	try(t, err)
	server, err := probe.EchoServer(up, netip.AddrPortFrom(upstream, 7))
	try(t, err)
	defer server.Close()
	datagrams, err := probe.Exchange(lan, host, netip.AddrPortFrom(upstream, 7), 3, 5*time.Second)
	try(t, err)
	for _, r := range append(replies, datagrams...) {
		if r != (probe.Reply{From: upstream, TTL: 63}) {
			t.Errorf("reply %+v, want one from %s with TTL 63", r, upstream)
		}
	}
	if len(replies) != 3 || len(datagrams) != 3 {
		t.Errorf("%d ping and %d udp replies, want 3 and 3", len(replies), len(datagrams))
	}
}

func TestPingNamesTheICMPError(t *testing.T) {
	_, _, lan := routed(t)
	_, err := probe.Ping(lan, host, netip.MustParseAddr("203.0.113.1"), 1, 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), "192.0.2.1 answers DestinationUnreachable") {
		t.Errorf("got %v, want the router's destination unreachable", err)
	}
}

func TestFloodCountsEveryPacket(t *testing.T) {
	up, router, lan := routed(t)
	out, err := probe.Open(lan, "eth0")
	try(t, err)
	defer out.Close()
	in, err := probe.Open(up, "eth0")
	try(t, err)
	defer in.Close()
	gateway, err := router.MAC("lan0")
	try(t, err)
	flood := probe.Flood{
		SrcMAC: out.MAC, DstMAC: gateway, Src: host, TTL: 64, Hops: 1, PacketsPerSec: 20000,
		Dst: []netip.Addr{netip.MustParseAddr("198.51.100.1")},
	}
	stream, err := flood.Start(out, in)
	try(t, err)
	ctx := lab.Deadline(t, 30*time.Second)
	arrived := func(n uint64) error {
		return lab.Await(ctx, strconv.FormatUint(n, 10)+" packets", func() error {
			if stream.Received() >= n {
				return nil
			}
			return os.ErrDeadlineExceeded
		})
	}
	try(t, arrived(10000), router.Sysctl("net.ipv4.ip_forward", "0"), router.Sysctl("net.ipv4.ip_forward", "1"))
	try(t, arrived(stream.Received()+10000))
	report, err := stream.Stop()
	try(t, err)
	t.Log(report)
	if report.Sent != report.Received+report.Lost || report.Duplicated+report.Damaged > 0 {
		t.Errorf("does not add up: %s", report)
	}
	lost := uint64(0)
	for _, i := range report.Intervals {
		lost += i.Lost
	}
	if lost != report.Lost {
		t.Errorf("intervals lost %d, the whole %d", lost, report.Lost)
	}
}

func TestProcessIsWatchedAndKilled(t *testing.T) {
	l := lab.Require(t)
	n, err := l.Namespace("one")
	try(t, err)
	ctx := lab.Deadline(t, 30*time.Second)
	p, err := n.Start("talker", "sh", "-c", "echo ready; exec cat /dev/zero >/dev/null")
	try(t, err)
	if line, err := p.AwaitLine(ctx, "^read.$"); err != nil || line != "ready" {
		t.Fatalf("got %q, %v", line, err)
	}
	if code, err := p.Stop(ctx, syscall.SIGKILL); err != nil || code != -9 {
		t.Errorf("killed: got %d, %v, want -9", code, err)
	}
	if _, err := p.AwaitLine(ctx, "never said"); err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("waiting for a dead program: got %v", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	lab.Require(t)
	l, err := lab.Open("", t.TempDir())
	try(t, err)
	n, err := l.Namespace("one")
	try(t, err)
	p, err := n.Start("stubborn", "sh", "-c", "trap '' TERM INT HUP; (while :; do read x </dev/zero; done) & wait")
	try(t, err, l.Close())
	if _, err := p.ExitCode(lab.Deadline(t, 10*time.Second)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/run/netns/" + n.Name); !os.IsNotExist(err) {
		t.Errorf("namespace %s: %v", n.Name, err)
	}
}

func TestOpenRemovesTheLabsOfDeadRuns(t *testing.T) {
	lab.Require(t)
	dead := exec.Command("true")
	try(t, dead.Run())
	name := "rd-" + strconv.Itoa(dead.Process.Pid) + "xtest-gone"
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := lab.Open("", t.TempDir())
	try(t, err, l.Close())
	if _, err := os.Stat("/run/netns/" + name); !os.IsNotExist(err) {
		t.Errorf("namespace %s: %v", name, err)
	}
}

func TestFixedOwnerOpensOnce(t *testing.T) {
	lab.Require(t)
	owner := "labtest" + strconv.Itoa(os.Getpid())
	l, err := lab.Open(owner, t.TempDir())
	try(t, err)
	defer l.Close()
	_, err = l.Namespace("one")
	try(t, err)
	if _, err := lab.Open(owner, t.TempDir()); err == nil || !strings.Contains(err.Error(), "already runs") {
		t.Errorf("second lab of the same name: got %v", err)
	}
	try(t, lab.Remove(owner))
	if _, err := lab.Open(owner, t.TempDir()); err != nil {
		t.Errorf("after Remove: %v", err)
	}
}
