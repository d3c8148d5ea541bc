package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"routerd/dataplane"
	"routerd/fib/realtable"
)

type options struct {
	stream, mode, flows          string
	batch, ports, workers, first int
	seconds                      float64
	gap, churn                   bool
}

func main() {
	var o options
	flag.StringVar(&o.stream, "stream", "pfx", "destinations: rnd, pfx, zipf, few, or a `FILE` of 32-bit integers")
	flag.StringVar(&o.mode, "mode", "forward", "forward, which also prints base, or base alone")
	flag.StringVar(&o.flows, "flows", "stream", "stream: each received packet gets the next destination; fixed: it keeps its own")
	flag.IntVar(&o.batch, "batch", dataplane.Batch, "packets taken from a ring at once")
	flag.IntVar(&o.ports, "ports", 4, "looped-back ports")
	flag.IntVar(&o.workers, "workers", 1, "2 compares two workers on two CPUs with one")
	flag.IntVar(&o.first, "cpu", 0, "CPU of the first worker; the second has the next one")
	flag.Float64Var(&o.seconds, "seconds", 3, "CPU seconds to measure for")
	flag.BoolVar(&o.gap, "gap", false, "report gaps between rounds, beside an idle and a busy control process")
	flag.BoolVar(&o.churn, "churn", false, "be the control process of -gap")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unknown argument %q", flag.Arg(0))
	case o.mode != "forward" && o.mode != "base":
		return fmt.Errorf("-mode %q: forward and base are possible", o.mode)
	case o.flows != "stream" && o.flows != "fixed":
		return fmt.Errorf("-flows %q: stream and fixed are possible", o.flows)
	case o.ports < 1 || o.ports > nextHops || inFlight%o.ports != 0:
		return fmt.Errorf("-ports %d: a divisor of %d, at most %d, is possible", o.ports, inFlight, nextHops)
	case o.workers < 1 || o.workers > dataplane.MaxWorkers:
		return fmt.Errorf("-workers %d: 1 to %d are possible", o.workers, dataplane.MaxWorkers)
	case o.gap && (o.ports != 4 || o.workers != 1):
		return fmt.Errorf("-gap goes with one worker and four ports")
	case o.seconds <= 0:
		return fmt.Errorf("-seconds %g: a positive number is possible", o.seconds)
	}
	if o.churn {
		return churn()
	}
	prefixes, err := realtable.Prefixes()
	if err != nil {
		return err
	}
	addresses, err := newStream(o.stream, prefixes)
	if err != nil {
		return err
	}
	s, files, err := newSegments(o.gap)
	if err != nil {
		return err
	}
	r, err := newRouter(s, prefixes, o.workers, o.ports, o.batch)
	if err != nil {
		return err
	}
	r.stream(addresses)
	r.settle()
	if o.gap {
		return r.gaps(o, files)
	}
	if o.workers > 1 {
		return r.scale(o, newOracle(prefixes))
	}
	return onCPU(o.first, func() error { return r.forward(o, newOracle(prefixes)) })
}

// forward measures one worker, with base beside it.
func (r *router) forward(o options, oracle *oracle) error {
	const packets = 1 << 20
	if err := r.verify(oracle, 0, packets); err != nil {
		return err
	}
	if o.flows == "fixed" {
		r.stream(nil)
	}
	base := &side{name: "base", round: func() int { return r.bounce(0) }}
	sides := []*side{base}
	if o.mode == "forward" {
		sides = []*side{{name: "forward", round: r.plane.Worker(0).Round}, base}
	}
	if err := compare(time.Duration(o.seconds*float64(time.Second)), sides...); err != nil {
		return err
	}
	if err := r.verify(oracle, 0, packets); err != nil {
		return err
	}
	if err := r.clean(); err != nil {
		return err
	}
	fmt.Printf("stream %s, flows %s, batch %d, %d ports, %d packets in flight, %d packets verified\n",
		o.stream, o.flows, o.batch, o.ports, inFlight, 2*packets)
	for _, s := range sides {
		fmt.Println(s)
	}
	if o.mode == "forward" {
		fmt.Printf("%-8s %25.2f ns/packet\n", "cost", median(sides[0].ns)-median(base.ns))
	}
	return nil
}
