//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"routerd/test/lab"
)

// owner names the namespaces of a demo that is left running.
const owner = "demo"

func main() {
	keep := flag.Bool("keep", false, "leave the network running and say what to type next")
	clean := flag.Bool("clean", false, "take down what -keep, or a demo that was killed, left running")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unknown argument %q; see demo -help\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *clean {
		err = errors.Join(lab.Remove(owner), lab.RemoveStale(), os.RemoveAll(keptDir()))
	} else {
		err = demo(ctx, *keep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func keptDir() string { return filepath.Join(os.TempDir(), "routerd-demo") }

// demo lays the network, shows it and, unless it is to stay, takes it down.
func demo(ctx context.Context, keep bool) (err error) {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	name, dir := "", keptDir()
	if keep {
		name = owner
	} else if dir, err = os.MkdirTemp("", "routerd-demo-"); err != nil {
		return err
	}
	l, err := lab.Open(name, dir)
	if err != nil {
		return err
	}
	s := &show{programs: filepath.Dir(exe)}
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err = s.run(limited, l); err == nil && keep {
		s.next()
		return nil
	}
	if err == nil {
		s.step("Stop routerd, remove the network")
		err = s.router.Shutdown(limited)
	}
	closed := l.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("%w\nlogs and configuration are in %s", err, dir), closed)
	}
	fmt.Println("\nAll of it held: routes by eBGP, traffic both ways, TTL one less, counted by routerd's ports.")
	return errors.Join(closed, os.RemoveAll(dir))
}
