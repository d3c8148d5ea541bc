//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// process is one measured program. It fills its tables, answers "ok NANOSECONDS",
// and then takes one request a line:
//
//	lookup KIND STREAM BATCH PASSES   answers  ok NANOSECONDS SUM, or unsupported
//	update                            answers  ok NANOSECONDS NANOSECONDS
//
// An update deletes the routes of the file "updates" and adds them again. SUM is of
// the next hops of one pass.
type process struct {
	command *exec.Cmd
	to      io.WriteCloser
	from    *bufio.Reader
	load    int64 // ns
}

var errUnsupported = errors.New("not supported by this CPU or by this build of DPDK")

func startProcess(env string, name string, args ...string) (*process, error) {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env)
	c.Stderr = os.Stderr
	to, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{command: c, to: to, from: bufio.NewReader(from)}
	if err := p.answer(&p.load); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func (p *process) lookup(kind, stream string, batch, passes int) (nanoseconds, sum int64, err error) {
	fmt.Fprintf(p.to, "lookup %s %s %d %d\n", kind, stream, batch, passes)
	err = p.answer(&nanoseconds, &sum)
	return nanoseconds, sum, err
}

func (p *process) update() (removed, added int64, err error) {
	fmt.Fprintln(p.to, "update")
	err = p.answer(&removed, &added)
	return removed, added, err
}

func (p *process) answer(numbers ...*int64) error {
	line, err := p.from.ReadString('\n')
	line = strings.TrimSpace(line)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	words := strings.Fields(line)
	switch {
	case line == "unsupported":
		return errUnsupported
	case len(words) != len(numbers)+1 || words[0] != "ok":
		return errors.New(line)
	}
	for i, n := range numbers {
		if _, err := fmt.Sscan(words[i+1], n); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}

// stop ends the process by ending its input.
func (p *process) stop() {
	_ = p.to.Close()
	_ = p.command.Wait()
}
