// Command speaker is a small BGP upstream for tests and the demo: it announces the
// prefixes it was given to one neighbour and prints what happens on the session,
// one line an event, to standard output:
//
//	established 198.51.100.2
//	announced 3
//	learned 192.0.2.0/27 via 198.51.100.2 as-path 64500
//	end-of-rib 198.51.100.2
//	withdrawn 192.0.2.0/27
//	down 198.51.100.2
//
// SIGUSR1 withdraws all its prefixes, SIGUSR2 announces them again, SIGTERM closes
// the session. It accepts every route and needs no privilege but that of its port.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "speaker:", err)
		os.Exit(2)
	}
	if err := run(log, o); err != nil {
		fmt.Fprintln(os.Stderr, "speaker:", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger, o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	commands := make(chan os.Signal, 4)
	signal.Notify(commands, syscall.SIGUSR1, syscall.SIGUSR2)

	s, err := open(ctx, log, o)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return s.close()
		case command := <-commands:
			if err := s.tell(command == syscall.SIGUSR1); err != nil {
				return err
			}
		}
	}
}

func parse(args []string) (options, error) {
	var (
		o     = options{port: 179, neighborPort: 179}
		flags = flag.NewFlagSet("speaker", flag.ContinueOnError)
		as    = flags.Uint("as", 64496, "own AS")
		peer  = flags.Uint("neighbor-as", 64500, "the neighbour's AS")
		file  = flags.String("prefixes", "", "file of prefixes to announce, one a line")
	)
	flags.TextVar(&o.id, "id", o.id, "router id; an IPv4 address")
	flags.TextVar(&o.listen, "listen", o.listen, "own address on the session")
	flags.TextVar(&o.neighbor, "neighbor", o.neighbor, "the neighbour's address")
	flags.TextVar(&o.nextHop, "next-hop", o.nextHop, "next hop of the prefixes (default: own address)")
	flags.IntVar(&o.port, "port", o.port, "TCP port to listen on")
	flags.IntVar(&o.neighborPort, "neighbor-port", o.neighborPort, "the neighbour's TCP port")
	flags.BoolVar(&o.passive, "passive", false, "wait for the neighbour to connect")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.as, o.neighborAS = uint32(*as), uint32(*peer)
	if !o.listen.Is4() || !o.neighbor.Is4() {
		return o, fmt.Errorf("-listen and -neighbor must be IPv4 addresses; got %v and %v", o.listen, o.neighbor)
	}
	if !o.id.IsValid() {
		o.id = o.listen
	}
	if !o.nextHop.IsValid() {
		o.nextHop = o.listen
	}
	var err error
	o.prefixes, err = readPrefixes(*file, flags.Args())
	return o, err
}
