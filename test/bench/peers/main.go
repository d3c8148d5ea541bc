//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

type options struct {
	cpu, rounds, batch int
	streams            []string
	worker             string
}

func main() {
	var o options
	var names string
	flag.IntVar(&o.cpu, "cpu", 0, "CPU that all lookups run on")
	flag.IntVar(&o.rounds, "rounds", 21, "rounds; each implementation has one turn on each stream in each round")
	flag.IntVar(&o.batch, "batch", 128, "addresses in one call, a power of two from 16 to 1024")
	flag.StringVar(&names, "streams", strings.Join(streamNames, ","), "streams to measure")
	flag.StringVar(&o.worker, "worker", "", "be the measured process, with the files of this `directory`")
	flag.Parse()
	o.streams = strings.Split(names, ",")
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.worker != "":
		return work(o.worker)
	case o.rounds < 1:
		return errors.New("-rounds: at least 1")
	case o.batch < 16 || o.batch > 1024 || o.batch&(o.batch-1) != 0:
		return errors.New("-batch: a power of two from 16 to 1024")
	}
	for _, s := range o.streams {
		if passes[s] == 0 {
			return fmt.Errorf("-streams: no stream %q, there are %s", s, strings.Join(streamNames, ", "))
		}
	}
	dir, err := os.MkdirTemp("", "routerd-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeFiles(dir); err != nil {
		return err
	}
	runtime.LockOSThread() // children start where this thread is
	if err := pin(o.cpu); err != nil {
		return fmt.Errorf("-cpu %d: %w", o.cpu, err)
	}
	competitors, err := start(dir)
	if err != nil {
		return err
	}
	defer stop(competitors)
	results, err := measure(competitors, o)
	if err != nil {
		return err
	}
	return results.print(os.Stdout, o)
}
