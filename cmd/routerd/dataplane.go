package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"routerd/dataplane"
	"routerd/dataplane/attach"
	"routerd/fib"
	"routerd/platform"
)

// The segments of shared memory, in the order in which the welcome carries them.
const (
	segmentTable  = iota // the FIB; written by control, read by the workers
	segmentWriter        // the FIB writer's own state; only kept here
	segmentState         // counters, adjacencies, quiet points; written by the workers
)

// readyLine is what a forwarding process writes to its ready descriptor when it serves.
// Anything else there is the reason why it cannot.
const readyLine = "ready"

type dataplaneOptions struct {
	setup   attach.Setup
	readyFD int
}

func dataplaneCommand(c *controlOptions) *cobra.Command {
	var o dataplaneOptions
	cmd := &cobra.Command{
		Use:   "dataplane",
		Short: "The forwarding process; the control process starts it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ready := os.NewFile(uintptr(o.readyFD), "ready")
			if o.readyFD < 0 {
				ready = nil
			}
			err := runDataplane(cmd.Context(), c.runDir, o.setup, ready, logger(c.debug))
			if err != nil && ready != nil {
				// The control process says it; one voice is enough.
				if _, werr := fmt.Fprintln(ready, oneLine(err)); werr == nil {
					os.Exit(exitFailed)
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.setup.Workers, "workers", 1, "worker threads")
	f.IntSliceVar(&o.setup.CPUs, "cpus", nil, "CPU of each worker")
	f.StringVar(&o.setup.Idle, "idle", string(dataplane.Adaptive), "what an idle worker does: spin or adaptive")
	f.IntVar(&o.setup.Buffers, "buffers", 0, "packet buffers")
	f.IntVar(&o.readyFD, "ready-fd", -1, "descriptor to write to when ready")
	return cmd
}

// runDataplane forwards until it is told to stop.
func runDataplane(ctx context.Context, runDir string, setup attach.Setup, ready *os.File, log *slog.Logger) error {
	// The terminal's or the service manager's other signals are the control process's.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	log = log.With("process", "dataplane")

	// A worker holds its thread for good; the slow path, the control socket and the
	// collector need others.
	if p := setup.Workers + 2; runtime.GOMAXPROCS(0) < p {
		runtime.GOMAXPROCS(p)
	}
	memory, err := newSegments()
	if err != nil {
		return err
	}
	table, err := fib.OpenTable(memory[segmentTable].Bytes())
	if err != nil {
		return err
	}
	id := dataplane.Identity{PID: os.Getpid(), Workers: setup.Workers, Start: time.Now()}
	if _, err := rand.Read(id.Boot[:]); err != nil {
		return err
	}
	state, err := dataplane.FormatState(memory[segmentState].Bytes(), id)
	if err != nil {
		return err
	}
	var waiters []*platform.Waiter
	for range setup.Workers {
		w, err := platform.NewWaiter()
		if err != nil {
			return err
		}
		defer w.Close()
		waiters = append(waiters, w)
	}
	system, err := platform.New(platform.Options{RunDir: runDir, Buffers: setup.Buffers, Log: log})
	if err != nil {
		return err
	}
	defer func() {
		if err := system.Close(); err != nil {
			log.Error("closing", "error", err)
		}
	}()
	plane, err := dataplane.New(dataplane.Options{
		Workers: setup.Workers,
		CPUs:    setup.CPUs,
		Idle:    dataplane.Idle(setup.Idle),
		Table:   table,
		State:   state,
		Log:     log,
		Pin:     platform.PinThread,
		Waiter: func() dataplane.Waiter {
			w := waiters[0]
			waiters = waiters[1:]
			return w
		},
	})
	if err != nil {
		return err
	}
	f := newForwarding(system, plane, log)
	var fds, sizes [attach.Segments]int
	for i, m := range memory {
		fds[i], sizes[i] = m.FD(), len(m.Bytes())
	}
	f.server, err = attach.Listen(planeSocket(runDir), attach.Welcome{
		PID: id.PID, Started: id.Start, Setup: setup, Sizes: sizes}, fds, f, log)
	if err != nil {
		return err
	}
	// The workers outlive the control socket: a port is closed at a quiet point of theirs.
	working, stopWorkers := context.WithCancel(context.Background())
	defer stopWorkers()
	running := make(chan error, 1)
	go func() {
		running <- plane.Run(working)
		cancel()
	}()
	if ready != nil {
		if _, err := fmt.Fprintln(ready, readyLine); err != nil {
			log.Warn("nobody waits for this process to be ready", "error", err)
		}
		_ = ready.Close()
	}
	log.Info("forwarding process ready", "pid", os.Getpid(), "workers", setup.Workers, "idle", setup.Idle,
		"lookup", table.LookupMethod(), "fib_memory", memory[segmentTable].Pages())
	err = f.server.Serve(ctx)
	f.Stop()
	stopWorkers()
	return errors.Join(err, <-running)
}

// newSegments makes the shared memory.
func newSegments() ([attach.Segments]*platform.SharedMemory, error) {
	var m [attach.Segments]*platform.SharedMemory
	for i, s := range []struct {
		name string
		size int
	}{{"fib", fib.TableSize()}, {"fib-writer", fib.WriterSize()}, {"state", dataplane.StateSize()}} {
		var err error
		if m[i], err = platform.NewSharedMemory(s.name, s.size); err != nil {
			return m, err
		}
	}
	if err := fib.Format(m[segmentTable].Bytes(), m[segmentWriter].Bytes()); err != nil {
		return m, err
	}
	return m, nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
