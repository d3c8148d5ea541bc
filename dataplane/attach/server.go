package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Forwarding is what the forwarding process does for its control process. The server
// calls one method at a time.
type Forwarding interface {
	SetPorts(PortList) PortStatusList
	Ports() PortStatusList
	DefineNextHops([]uint16) error
	Neighbors() NeighborList
	// Stop gives every port back. When it has returned, Serve returns.
	Stop()
}

// Server is the forwarding process's end.
type Server struct {
	log      *slog.Logger
	listener *net.UnixListener
	welcome  Welcome
	fds      [Segments]int
	plane    Forwarding
	end      context.CancelFunc // makes Serve return

	mu  sync.Mutex
	out *conn // the attached control process, nil where there is none
	pid int
}

// conn serializes the writes of answers and events.
type conn struct {
	mu sync.Mutex
	*net.UnixConn
}

// eventTimeout bounds a write to a control process that does not read.
const eventTimeout = 5 * time.Second

// Listen opens the socket at path, mode 0600. fds are the shared memory's descriptors, which
// stay the caller's. A socket file that nobody listens on is
// replaced; one that answers is an error.
func Listen(path string, welcome Welcome, fds [Segments]int, plane Forwarding, log *slog.Logger) (*Server, error) {
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s: another forwarding process listens there; stop it first", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("stale socket: %w", err)
	}
	old := syscall.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	welcome.Protocol = Protocol
	return &Server{log: log, listener: l, welcome: welcome, fds: fds, plane: plane}, nil
}

// Serve accepts control processes until ctx ends or one of them asks to stop, and returns
// when the last has been let go.
func (s *Server) Serve(ctx context.Context) error {
	ctx, s.end = context.WithCancel(ctx)
	defer s.end()
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		c, err := s.listener.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("control socket: %w", err)
		}
		serving.Go(func() { s.serve(ctx, &conn{UnixConn: c}) })
	}
}

// Event tells the attached control process, if there is one, that ports have changed.
func (s *Server) Event(ports PortStatusList) {
	s.mu.Lock()
	c := s.out
	s.mu.Unlock()
	if c == nil {
		return
	}
	if err := c.send(message{Event: "ports", Body: encode(ports)}, nil); err != nil {
		_ = c.Close()
	}
}

func (s *Server) serve(ctx context.Context, c *conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	stopped := false
	defer func() {
		// Who asked to stop learns from the end of the connection that the process has ended.
		if stop(); !stopped {
			_ = c.Close()
		}
	}()
	lines := bufio.NewScanner(c)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	attached := false
	for lines.Scan() {
		var q request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			s.log.Warn("control socket: not a request", "error", err)
			return
		}
		var answer message
		var rights []byte
		switch {
		case !attached:
			answer = s.attach(c, q)
			if attached = answer.Error == ""; attached {
				rights = syscall.UnixRights(s.fds[:]...)
				defer func() {
					if !stopped {
						s.detach(c)
					}
				}()
			}
		default:
			answer = s.answer(q)
		}
		answer.ID = q.ID
		if err := c.send(answer, rights); err != nil || !attached {
			return
		}
		if q.Op == "stop" {
			stopped = true
			stop()
			s.end()
			return
		}
	}
}

// attach checks the first request and makes c the control process.
func (s *Server) attach(c *conn, q request) message {
	var h Hello
	if err := json.Unmarshal(q.Body, &h); q.Op != "hello" || err != nil {
		return message{Error: fmt.Sprintf("%v: hello expected, got %q", ErrProtocol, q.Op)}
	}
	if h.Protocol != Protocol {
		return message{Error: fmt.Sprintf("%v: control process speaks version %d, forwarding process %d: restart the forwarding process", ErrProtocol, h.Protocol, Protocol)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		return message{Taken: true, Error: fmt.Sprintf("%v: process %d", ErrTaken, s.pid)}
	}
	s.out, s.pid = c, h.PID
	s.log.Info("control process attached", "pid", h.PID)
	return message{Body: encode(s.welcome)}
}

func (s *Server) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == c {
		s.log.Info("control process detached; forwarding goes on", "pid", s.pid)
		s.out = nil
	}
}

func (s *Server) answer(q request) message {
	switch q.Op {
	case "set-ports":
		var l PortList
		if err := json.Unmarshal(q.Body, &l); err != nil {
			return message{Error: fmt.Sprintf("%v: %v", ErrProtocol, err)}
		}
		return message{Body: encode(s.plane.SetPorts(l))}
	case "ports":
		return message{Body: encode(s.plane.Ports())}
	case "define-next-hops":
		var l NextHopList
		if err := json.Unmarshal(q.Body, &l); err != nil {
			return message{Error: fmt.Sprintf("%v: %v", ErrProtocol, err)}
		}
		if err := s.plane.DefineNextHops(l.Indexes); err != nil {
			return message{Error: err.Error()}
		}
		return message{}
	case "neighbors":
		return message{Body: encode(s.plane.Neighbors())}
	case "stop":
		s.plane.Stop()
		return message{}
	}
	return message{Error: fmt.Sprintf("%v: unknown request %q", ErrProtocol, q.Op)}
}

func (c *conn) send(m message, rights []byte) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.SetWriteDeadline(time.Now().Add(eventTimeout)); err != nil {
		return err
	}
	n := 0
	if rights != nil {
		// The descriptors go with the first bytes; the rest follows like any other.
		if n, _, err = c.WriteMsgUnix(line, rights, nil); err != nil {
			return err
		}
	}
	_, err = c.Write(line[n:])
	return err
}

// encode marshals what always can be.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
