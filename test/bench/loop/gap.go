package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"runtime"
	"time"

	"routerd/dataplane"
	"routerd/fib"
	"routerd/platform"
)

// gapTurns is how often the control process is idle and busy in turn.
const gapTurns = 5

// shared makes the segments as routerd does, for a child process to map.
func shared() (segments, []*os.File, error) {
	var files []*os.File
	var memory [3][]byte
	for i, size := range []int{fib.TableSize(), fib.WriterSize(), dataplane.StateSize()} {
		m, err := platform.NewSharedMemory(segmentNames[i], size)
		if err != nil {
			return segments{}, nil, err
		}
		memory[i] = m.Bytes()
		files = append(files, os.NewFile(uintptr(m.FD()), segmentNames[i]))
	}
	s := segments{memory[0], memory[1], memory[2]}
	return s, files, fib.Format(s.table, s.writer)
}

var segmentNames = [...]string{"table", "writer", "state"}

// control is the child process.
type control struct {
	cmd     *exec.Cmd
	command io.WriteCloser
	reply   *bufio.Reader
}

// startControl starts the child on a CPU, and returns when it has attached to the FIB.
func startControl(cpu int, files []*os.File) (*control, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &control{cmd: exec.Command(self, "-churn")}
	c.cmd.Stderr, c.cmd.ExtraFiles = os.Stderr, files
	if c.command, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.reply = bufio.NewReader(out)
	// A child runs where the thread runs that starts it.
	if err := onCPU(cpu, c.cmd.Start); err != nil {
		return nil, fmt.Errorf("control process: %w", err)
	}
	_, err = c.reply.ReadString('\n')
	return c, err
}

func (c *control) tell(line string) (string, error) {
	if _, err := fmt.Fprintln(c.command, line); err != nil {
		return "", err
	}
	return c.reply.ReadString('\n')
}

func (c *control) stop() error {
	c.command.Close()
	return c.cmd.Wait()
}

// gaps reports the times between the starts of two rounds.
func (r *router) gaps(o options, files []*os.File) error {
	c, err := startControl(o.first+1, files)
	if err != nil {
		return err
	}
	var idle, busy histogram
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	turn := time.Duration(o.seconds * float64(time.Second) / (2 * gapTurns))
	var last string
	for range gapTurns {
		if err := onCPU(o.first, func() error { return r.watch(&idle, turn) }); err != nil {
			return err
		}
		if _, err := c.tell("busy"); err != nil {
			return err
		}
		if err := onCPU(o.first, func() error { return r.watch(&busy, turn) }); err != nil {
			return err
		}
		if last, err = c.tell("idle"); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	if err := c.stop(); err != nil {
		return fmt.Errorf("control process: %w", err)
	}
	if err := r.clean(); err != nil {
		return err
	}
	fmt.Printf("from one round to the next, stream %s, batch %d, in microseconds\n", o.stream, o.batch)
	fmt.Printf("%-16s %10s %8s %8s %8s   %s\n", "control process", "rounds", "p50", "p99.9", "max", "interrupted by another process on this CPU: rounds, max")
	fmt.Printf("%-16s %s\n%-16s %s\n", "idle", &idle, "loads and drops", &busy)
	fmt.Printf("control process: %s", last)
	fmt.Printf("forwarding process: %d heap objects allocated, %d collections\n", after.Mallocs-before.Mallocs, after.NumGC-before.NumGC)
	return nil
}

// askFrom is the gap in nanoseconds from which on it is worth a system call to ask whether
// another process had the CPU.
const askFrom = 20_000

// watch runs rounds and notes the time between them.
func (r *router) watch(h *histogram, d time.Duration) error {
	w := r.plane.Worker(0)
	interrupted, began := interruptions(), time.Now()
	for last := time.Duration(0); last < d; {
		if w.Round() == 0 {
			return errors.Join(errors.New("no packets are left in the loop"), r.clean())
		}
		now := time.Since(began)
		gap := uint64(now - last)
		if last = now; gap > askFrom {
			if n := interruptions(); n != interrupted {
				interrupted = n
				h.interrupted++
				h.longest = max(h.longest, gap)
				continue
			}
		}
		h.add(gap)
	}
	return nil
}

// histogram counts nanoseconds in steps of a sixteenth of a power of two.
type histogram struct {
	counts [64 * 16]uint64
	n, max uint64

	interrupted, longest uint64 // not among the others
}

func (h *histogram) add(ns uint64) {
	h.counts[step(ns)]++
	h.n++
	h.max = max(h.max, ns)
}

func step(ns uint64) int {
	if ns < 16 {
		return int(ns)
	}
	power := bits.Len64(ns) - 5
	return power<<4 + int(ns>>power)
}

// quantile is the upper end of the step that the share q of all reaches, in nanoseconds.
func (h *histogram) quantile(q float64) float64 {
	want, seen := uint64(math.Ceil(q*float64(h.n))), uint64(0)
	for i, n := range h.counts {
		if seen += n; seen >= want {
			if i < 16 {
				return float64(i)
			}
			power := i>>4 - 1
			return float64(uint64(i-power<<4+1) << power)
		}
	}
	return float64(h.max)
}

func (h *histogram) String() string {
	return fmt.Sprintf("%10d %8.1f %8.1f %8.1f   %d, %.1f", h.n, h.quantile(0.5)/1e3, h.quantile(0.999)/1e3, float64(h.max)/1e3, h.interrupted, float64(h.longest)/1e3)
}
