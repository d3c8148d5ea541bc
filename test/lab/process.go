//go:build linux

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Process is a program that runs in a namespace with its output in a file. The
// file, not a pipe, takes the output, so that children which outlive the program
// can go on writing.
type Process struct {
	Name    string
	LogFile string
	before  int64 // bytes in the file when the program was started: another's words
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // how it ended; valid once done is closed
}

// Start starts a program. Its output is appended to NAME.log in the lab's
// directory.
func (n *Namespace) Start(name string, argv ...string) (*Process, error) {
	p := &Process{Name: name, LogFile: n.lab.Path(name + ".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if p.before, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	p.cmd = n.Command(argv...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Dir = filepath.Dir(p.LogFile)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the lab's owner
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the process id of the program itself: ip netns exec replaces itself by it.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode waits for the end of the program and returns its exit code, or the
// negated number of the signal that killed it.
func (p *Process) ExitCode(ctx context.Context) (int, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s still runs: %w\n%s", p.Name, context.Cause(ctx), p.Tail())
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			return -int(status.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, p.err
}

// Signal sends a signal to the program.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Stop sends a signal and waits until the program has ended.
func (p *Process) Stop(ctx context.Context, s syscall.Signal) (int, error) {
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, err
	}
	return p.ExitCode(ctx)
}

// AwaitLine waits until a line of the log matches the regular expression and
// returns the last one that does. It fails at once when the program ends.
func (p *Process) AwaitLine(ctx context.Context, pattern string) (string, error) {
	re, err := regexp.Compile("(?m)^.*(?:" + pattern + ").*$")
	if err != nil {
		return "", err
	}
	var line string
	err = Await(ctx, fmt.Sprintf("%s to log %q", p.Name, pattern), func() error {
		ended := p.ended() // asked before the log is read, so no last word is missed
		log, err := p.log()
		if err != nil {
			return err
		}
		if found := re.FindAll(log, -1); found != nil {
			line = string(found[len(found)-1])
			return nil
		}
		if ended {
			return Never(fmt.Errorf("it ended: %v\n%s", p.err, p.Tail()))
		}
		return errors.New("no such line yet; the log ends:\n" + p.Tail())
	})
	return line, err
}

// Tail returns the last 20 lines of the log, for messages.
func (p *Process) Tail() string {
	log, err := p.log()
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimRight(log, "\n")), "\n")
	return "  " + p.Name + "| " + strings.Join(lines[max(0, len(lines)-20):], "\n  "+p.Name+"| ")
}

// log returns what was logged since the program was started.
func (p *Process) log() ([]byte, error) {
	log, err := os.ReadFile(p.LogFile)
	return log[min(int64(len(log)), p.before):], err
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
