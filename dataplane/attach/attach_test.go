package attach_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/dataplane/attach"
)

// plane is a forwarding process that remembers what it was told.
type plane struct {
	ports   attach.PortStatusList
	defined chan []uint16
	stopped chan struct{}
	served  chan struct{} // closed when Serve has returned
}

func (p *plane) SetPorts(l attach.PortList) attach.PortStatusList {
	p.ports = attach.PortStatusList{}
	for i, port := range l.Ports {
		p.ports.Ports = append(p.ports.Ports, attach.PortStatus{Port: port, Index: i, Up: true})
	}
	return p.ports
}
func (p *plane) Ports() attach.PortStatusList { return p.ports }
func (p *plane) DefineNextHops(i []uint16) error {
	if len(i) == 0 {
		return errors.New("no next hops named")
	}
	p.defined <- i
	return nil
}
func (p *plane) Neighbors() attach.NeighborList {
	return attach.NeighborList{Neighbors: []attach.Neighbor{{Port: "xe0", Address: netip.MustParseAddr("192.0.2.1"), State: "Reachable"}}}
}
func (p *plane) Stop() { close(p.stopped) }

var setup = attach.Setup{Workers: 2, CPUs: []int{1, 2}, Idle: "adaptive", Buffers: 4096}

// start runs a forwarding process's server and returns its socket.
func start(t *testing.T) (*plane, *attach.Server, string) {
	t.Helper()
	p := &plane{defined: make(chan []uint16, 1), stopped: make(chan struct{}), served: make(chan struct{})}
	var fds [attach.Segments]int
	for i := range fds {
		f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(strings.Repeat("s", i+1)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		fds[i] = int(f.Fd())
	}
	path := filepath.Join(t.TempDir(), "s")
	s, err := attach.Listen(path, attach.Welcome{PID: 7, Setup: setup, Sizes: [3]int{1, 2, 3}}, fds, p, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx)
		close(p.served)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p, s, path
}

func dial(t *testing.T, path string, events func(attach.PortStatusList)) *attach.Client {
	t.Helper()
	c, err := attach.Dial(t.Context(), path, events)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestWelcomeCarriesSetupAndSharedMemory(t *testing.T) {
	_, _, path := start(t)
	c := dial(t, path, nil)
	want := attach.Welcome{Protocol: attach.Protocol, PID: 7, Setup: setup, Sizes: [3]int{1, 2, 3}}
	if diff := cmp.Diff(want, c.Welcome()); diff != "" {
		t.Error(diff)
	}
	for i, f := range c.Files() {
		st, err := f.Stat()
		if err != nil || st.Size() != int64(i+1) {
			t.Errorf("segment %d: %v, error %v", i, st, err)
		}
	}
}

func TestRequestsReachTheForwardingProcess(t *testing.T) {
	p, _, path := start(t)
	c := dial(t, path, nil)
	port := attach.Port{Name: "xe0", Device: "xdp:eth0", Queues: 2, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}}
	got, err := c.SetPorts(t.Context(), attach.PortList{Ports: []attach.Port{port}})
	if err != nil {
		t.Fatal(err)
	}
	want := attach.PortStatusList{Ports: []attach.PortStatus{{Port: port, Up: true}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	if got, err = c.Ports(t.Context()); err != nil || len(got.Ports) != 1 {
		t.Errorf("ports: %v, error %v", got, err)
	}
	if err := c.DefineNextHops(t.Context(), []uint16{3, 4}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint16{3, 4}, <-p.defined); diff != "" {
		t.Error(diff)
	}
	if err := c.DefineNextHops(t.Context(), nil); err == nil || err.Error() != "no next hops named" {
		t.Errorf("error of the forwarding process: %v", err)
	}
	if n, err := c.Neighbors(t.Context()); err != nil || len(n) != 1 || n[0].State != "Reachable" {
		t.Errorf("neighbours: %v, error %v", n, err)
	}
}

func TestOnlyOneControlProcess(t *testing.T) {
	_, _, path := start(t)
	c := dial(t, path, nil)
	if _, err := attach.Dial(t.Context(), path, nil); !errors.Is(err, attach.ErrTaken) {
		t.Errorf("second control process: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// The forwarding process notices the end of the first in its own time.
	for {
		c, err := attach.Dial(t.Context(), path, nil)
		if err == nil {
			_ = c.Close()
			return
		}
		if !errors.Is(err, attach.ErrTaken) {
			t.Fatal(err)
		}
	}
}

func TestEventsArrive(t *testing.T) {
	_, s, path := start(t)
	events := make(chan attach.PortStatusList, 1)
	dial(t, path, func(l attach.PortStatusList) { events <- l })
	s.Event(attach.PortStatusList{Ports: []attach.PortStatus{{Index: 5}}})
	if e := <-events; len(e.Ports) != 1 || e.Ports[0].Index != 5 {
		t.Errorf("event %v", e)
	}
}

// The connection outlives the server's end: only that of the process closes it.
func TestStopWaitsForTheEndOfTheProcess(t *testing.T) {
	p, _, path := start(t)
	c := dial(t, path, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Stop(ctx) }()
	<-p.stopped
	<-p.served
	select {
	case err := <-ended:
		t.Errorf("Stop returned %v while the process lives", err)
	case <-c.Done():
		t.Error("the connection ended while the process lives")
	default:
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Stop: %v", err)
	}
}

func TestForeignBytesDetachNobody(t *testing.T) {
	_, _, path := start(t)
	for _, bytes := range []string{"\n", "{}\n", "GET / HTTP/1.1\r\n\r\n", `{"id":1,"op":"ports"}` + "\n",
		`{"id":1,"op":"hello","body":{"protocol":99}}` + "\n", "\x00\xff\n", `{"id":1,"op":"hello","body":7}` + "\n"} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		// The server answers with an error or hangs up; either way it closes.
		r := bufio.NewReader(c)
		for err == nil {
			var line string
			if line, err = r.ReadString('\n'); err == nil && !strings.Contains(line, `"error"`) {
				t.Errorf("%q was answered %q", bytes, line)
			}
		}
		_ = c.Close()
	}
	dial(t, path, nil)
}

func TestListenReplacesAStaleSocketOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	var fds [attach.Segments]int
	if _, err := attach.Listen(path, attach.Welcome{}, fds, &plane{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("took over a socket that is in use")
	}
	_ = stale.Close()
	if _, err := attach.Listen(path, attach.Welcome{}, fds, &plane{}, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

// A forwarding process that answers with foreign bytes is an error, never a panic.
func FuzzDial(f *testing.F) {
	f.Add([]byte(`{"id":1,"body":{}}` + "\n"))
	f.Add([]byte("\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, answer []byte) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = c.Write(answer)
			_ = c.Close()
		}()
		if c, err := attach.Dial(t.Context(), path, nil); err == nil {
			t.Errorf("attached to %q", answer)
			_ = c.Close()
		}
		_ = l.Close()
	})
}
