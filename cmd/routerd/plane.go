package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"routerd/config"
	"routerd/dataplane"
	"routerd/dataplane/attach"
	"routerd/fib"
	"routerd/platform"
)

const (
	// attachTimeout bounds the first exchange with a forwarding process.
	attachTimeout = 5 * time.Second
	// startTimeout bounds the start of a forwarding process: it maps and touches the
	// packet buffers before it says that it is ready.
	startTimeout = 30 * time.Second
	// askTimeout bounds a request to the forwarding process; opening a port may wait
	// for the kernel.
	askTimeout = 30 * time.Second
)

// plane is the control process's hold on one forwarding process: the control socket and
// the shared memory.
type plane struct {
	client  *attach.Client
	state   *dataplane.State
	fib     *fib.Writer
	table   *fib.Table // what the workers see
	resumed bool       // the process was running before: its FIB holds routes to be relearned
	memory  []*platform.SharedMemory
}

// startPlane attaches to the forwarding process of runDir, or starts one where there is
// none. events is called for each change of a port.
func startPlane(ctx context.Context, runDir string, setup attach.Setup, events func(attach.PortStatusList), log *slog.Logger) (*plane, error) {
	socket := planeSocket(runDir)
	client, err := dialPlane(ctx, socket, events)
	resumed := err == nil
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		if err := spawnPlane(ctx, runDir, setup, log); err != nil {
			return nil, err
		}
		client, err = dialPlane(ctx, socket, events)
	}
	if err != nil {
		return nil, err
	}
	p := &plane{client: client, resumed: resumed}
	if err := p.open(); err != nil {
		p.close()
		pid := client.Welcome().PID
		return nil, fmt.Errorf("forwarding process %d: %w; end it (kill %d) and start routerd again", pid, err, pid)
	}
	return p, nil
}

func planeSocket(runDir string) string { return filepath.Join(runDir, "dataplane.sock") }

func dialPlane(ctx context.Context, socket string, events func(attach.PortStatusList)) (*attach.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	client, err := attach.Dial(ctx, socket, events)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: it is stopped or hangs; end it (fuser -k %s) and start routerd again", err, socket)
	}
	return client, err
}

// open maps the shared memory and becomes the FIB's writer.
func (p *plane) open() error {
	w := p.client.Welcome()
	var mem [attach.Segments][]byte
	for i, f := range p.client.Files() {
		m, err := platform.OpenSharedMemory(int(f.Fd()), w.Sizes[i], i != segmentState)
		if err != nil {
			return err
		}
		p.memory = append(p.memory, m)
		mem[i] = m.Bytes()
	}
	var err error
	if p.state, err = dataplane.OpenState(mem[segmentState]); err != nil {
		return err
	}
	if p.table, err = fib.OpenTable(mem[segmentTable]); err != nil {
		return err
	}
	p.fib, err = fib.NewWriter(mem[segmentTable], mem[segmentWriter], fib.Options{
		Epochs: p.state.Epochs(),
		Define: func(nextHops []uint16) error {
			ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
			defer cancel()
			return p.client.DefineNextHops(ctx, nextHops)
		},
	})
	return err
}

// setPorts makes the ports of the forwarding process those of l.
func (p *plane) setPorts(ctx context.Context, l attach.PortList) (attach.PortStatusList, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return p.client.SetPorts(ctx, l)
}

// openPorts is setPorts for a forwarding process that is new to us: the error is that of
// the first port that has one.
func (p *plane) openPorts(ctx context.Context, ports []config.Port) (attach.PortStatusList, error) {
	status, err := p.setPorts(ctx, portList(ports))
	if err == nil {
		err = newError(attach.PortStatusList{}, status)
	}
	return status, err
}

// difference says how the forwarding process runs otherwise than cfg says, if it does.
func (p *plane) difference(cfg *config.Config) string {
	runs, want := p.client.Welcome().Setup.String(), setupOf(cfg).String()
	if runs == want {
		return ""
	}
	return fmt.Sprintf("the forwarding process runs with %s, configured are %s: stop routerd with SIGTERM and start it again to change that", runs, want)
}

// stop ends the forwarding process, which gives the interfaces back, and waits for it.
func (p *plane) stop(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if err := p.client.Stop(ctx); err != nil {
		pid := p.client.Welcome().PID
		log.Error("forwarding process does not stop; killing it", "pid", pid, "error", err)
		p.kill()
	}
	p.close()
}

// kill ends the forwarding process. The kernel takes its programs off the interfaces.
func (p *plane) kill() {
	if proc, err := os.FindProcess(p.client.Welcome().PID); err == nil {
		_ = proc.Kill()
	}
}

// close lets the forwarding process go on without us.
func (p *plane) close() {
	_ = p.client.Close()
	for _, m := range p.memory {
		_ = m.Close()
	}
}

// spawnPlane starts a forwarding process in a session of its own, so that it outlives us,
// and waits until it is ready. It ends when it says why it cannot.
func spawnPlane(ctx context.Context, runDir string, setup attach.Setup, log *slog.Logger) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("forwarding process: %w", err)
	}
	ready, child, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("forwarding process: %w", err)
	}
	defer ready.Close()
	args := []string{"dataplane", "--run-dir", runDir, "--idle", setup.Idle,
		"--workers", strconv.Itoa(setup.Workers), "--buffers", strconv.Itoa(setup.Buffers), "--ready-fd", "3"}
	if len(setup.CPUs) > 0 {
		args = append(args, "--cpus", joinInts(setup.CPUs))
	}
	if log.Enabled(ctx, slog.LevelDebug) {
		args = append(args, "--debug")
	}
	cmd := exec.Command(exe, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{child}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = startFirst(cmd)
	_ = child.Close()
	if err != nil {
		return fmt.Errorf("forwarding process: %w", err)
	}
	go func() {
		// Its end shows on the control socket, but not what killed it.
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() < 0 {
			log.Error("forwarding process was killed", "pid", cmd.Process.Pid, "by", err)
		}
	}()
	if err := ready.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return fmt.Errorf("forwarding process: %w", err)
	}
	line, err := bufio.NewReader(ready).ReadString('\n')
	line = strings.TrimSuffix(line, "\n")
	switch {
	case line == readyLine:
		return nil
	case line != "":
		return errors.New(line)
	case errors.Is(err, io.EOF):
		return errors.New("forwarding process died before it was ready; its last words are above")
	}
	_ = cmd.Process.Kill()
	return fmt.Errorf("forwarding process was not ready within %s", startTimeout)
}

// forwardingNice is the nice value of the forwarding process: packets go before the work
// that the control process has with a full table.
const forwardingNice = -10

// startFirst starts cmd with forwardingNice, which a process inherits from the thread that
// starts it; without the right to it cmd starts like any other. That thread ends here.
func startFirst(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, forwardingNice)
		started <- cmd.Start()
	}()
	return <-started
}

func joinInts(n []int) string {
	s := make([]string, len(n))
	for i, v := range n {
		s[i] = strconv.Itoa(v)
	}
	return strings.Join(s, ",")
}
