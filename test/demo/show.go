//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"time"

	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

// announced are the upstream's prefixes; it holds the first address of each.
var announced = []string{"203.0.113.0/25", "203.0.113.128/25", "198.18.0.0/15"}

const (
	packets = 20 // of each kind to and from each prefix
	wait    = 5 * time.Second
)

// show is one run of the demo.
type show struct {
	programs string
	network  *edge.Network
	router   *edge.Router
	held     []netip.Addr // the upstream's addresses in announced
}

func (s *show) step(text string) { fmt.Printf("\n== %s\n", text) }

func (s *show) run(ctx context.Context, l *lab.Lab) error {
	s.step("Lay the network: upstream AS 64496 -- router AS 64500 -- LAN host " + edge.LANHost.String())
	if err := s.lay(l); err != nil {
		return err
	}
	s.step("Start routerd on two AF_XDP ports and wait for BGP")
	if err := s.converge(ctx); err != nil {
		return err
	}
	s.step(fmt.Sprintf("Move %d pings and %d UDP datagrams to and from each of %s", packets, packets, strings.Join(announced, ", ")))
	if err := s.traffic(ctx); err != nil {
		return err
	}
	for _, what := range []string{"bgp", "fib", "port", "neighbor", "drops"} {
		s.step("routerctl show " + what)
		out, err := s.router.Ctl("show", what)
		if err != nil {
			return err
		}
		fmt.Printf("%s", out)
	}
	return s.sources()
}

func (s *show) lay(l *lab.Lab) error {
	var err error
	if s.network, err = edge.Lay(l, 1); err != nil {
		return err
	}
	for _, text := range announced {
		s.held = append(s.held, netip.MustParsePrefix(text).Addr().Next())
	}
	if err = s.network.Upstreams[0].Hold(s.held...); err != nil {
		return err
	}
	s.router, err = s.network.NewRouter(s.programs, "")
	return err
}

func (s *show) converge(ctx context.Context) error {
	upstream := s.network.Upstreams[0]
	if err := s.router.Start(ctx); err != nil {
		return err
	}
	fmt.Printf("routerd runs as process %d\n", s.router.PID())
	if _, err := upstream.Speak(s.programs+"/speaker", announced...); err != nil {
		return err
	}
	if err := s.router.AwaitSession(ctx, upstream.Address); err != nil {
		return err
	}
	fmt.Printf("the session with %s is Established\n", upstream.Address)
	for _, prefix := range announced {
		if err := s.router.AwaitRoute(ctx, prefix, upstream.Address); err != nil {
			return err
		}
		fmt.Printf("%s is in the FIB via %s\n", prefix, upstream.Address)
	}
	return nil
}

// traffic sends both ways and compares what routerd counted with what was sent.
func (s *show) traffic(ctx context.Context) error {
	before, err := s.router.PortCounters(ctx)
	if err != nil {
		return err
	}
	upstream := s.network.Upstreams[0]
	sent := 0
	for _, far := range s.held {
		for _, way := range []struct {
			from, to probe.Space
			src, dst netip.Addr
		}{
			{s.network.LAN, upstream, edge.LANHost, far},
			{upstream, s.network.LAN, far, edge.LANHost},
		} {
			if err := exchange(way.from, way.to, way.src, way.dst); err != nil {
				return err
			}
			fmt.Printf("%-14s -> %-14s  %d pings and %d datagrams came back, TTL 63\n", way.src, way.dst, packets, packets)
			sent += 2 * packets
		}
	}
	// A worker counts a batch after it has sent it, so the last packet may be here first.
	return lab.Await(ctx, "routerd's port counters", func() error {
		after, err := s.router.PortCounters(ctx)
		for name := range after {
			in, out := after[name].InPkts-before[name].InPkts, after[name].OutPkts-before[name].OutPkts
			if in < uint64(sent) || out < uint64(sent) {
				err = fmt.Errorf("port %s: %d packets went each way, routerd counted %d in and %d out", name, sent, in, out)
			}
		}
		return err
	})
}

// exchange sends pings and datagrams from src to dst and back.
func exchange(from, to probe.Space, src, dst netip.Addr) error {
	pings, err := probe.Ping(from, src, dst, packets, wait)
	if err != nil {
		return err
	}
	service := netip.AddrPortFrom(dst, 7)
	server, err := probe.EchoServer(to, service)
	if err != nil {
		return err
	}
	defer server.Close()
	datagrams, err := probe.Exchange(from, src, service, packets, wait)
	if err != nil {
		return err
	}
	for _, r := range append(pings, datagrams...) {
		if r.TTL != 63 {
			return fmt.Errorf("answer of %s arrived with TTL %d, want 63", r.From, r.TTL)
		}
	}
	return nil
}

// sources reads show fib as a script would.
func (s *show) sources() error {
	for _, prefix := range announced {
		out, err := s.router.Ctl("show", "fib", prefix, "-o", "json")
		if err != nil {
			return err
		}
		var answer struct {
			FIB []struct{ Prefix, Source string }
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			return fmt.Errorf("routerctl show fib %s -o json: %w", prefix, err)
		}
		if len(answer.FIB) != 1 || answer.FIB[0].Prefix != prefix || answer.FIB[0].Source != "ebgp" {
			return fmt.Errorf("%s came not by eBGP: %s", prefix, out)
		}
	}
	return nil
}

// next prints what to type while the network stays.
func (s *show) next() {
	s.step("The network stays. What to type next:")
	if _, err := exec.LookPath("ping"); err != nil {
		fmt.Println("  apt-get install iputils-ping   # this machine has no ping, which is used below")
	}
	n := s.network
	upstream := n.Upstreams[0]
	for _, line := range []string{
		fmt.Sprintf("%s/routerctl -s %s show fib %s", s.programs, s.router.Socket, s.held[0]),
		fmt.Sprintf("%s/routerctl -s %s show bgp neighbor %s", s.programs, s.router.Socket, upstream.Address),
		fmt.Sprintf("ip netns exec %s ping -c 3 %s", n.LAN.Name, s.held[0]),
		fmt.Sprintf("ip netns exec %s ping -c 3 -I %s %s", upstream.Name, s.held[0], edge.LANHost),
		fmt.Sprintf("ip netns exec %s ip -d address", n.Router.Name),
		fmt.Sprintf("kill -9 %d   # the control process; traffic goes on", s.router.PID()),
		fmt.Sprintf("ip netns exec %s %s/routerd -c %s --run-dir %s   # start it again", n.Router.Name, s.programs, s.router.ConfigFile, s.router.RunDir),
		fmt.Sprintf("cat %s", s.router.LogFile),
		"make demo-clean   # take it all down",
	} {
		fmt.Println("  " + line)
	}
}
