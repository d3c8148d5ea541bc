package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"routerd/config"
)

// Options are what a Server needs. Backend and Log are required.
type Options struct {
	Backend Backend
	Log     *slog.Logger
}

// Server serves a Backend on control sockets.
type Server struct {
	backend  Backend
	log      *slog.Logger
	http     *http.Server
	metrics  http.Handler
	rates    *rates
	stall    time.Duration // how long a client may leave a chunk unread
	requests chan struct{} // one token per running request
	streams  chan struct{} // one token per running stream

	mu        sync.Mutex // guards what follows
	listeners map[string]*listener
	closed    bool
	stop      context.CancelFunc // ends sampling
	running   sync.WaitGroup     // Serve loops and the sampler
}

const (
	answerTime = 10 * time.Second // for reads; the Backend answers in milliseconds
	changeTime = 2 * time.Minute  // for ApplyConfig
)

// NewServer makes a server that listens on nothing yet.
func NewServer(o Options) *Server {
	s := &Server{
		backend:   o.Backend,
		log:       o.Log,
		rates:     newRates(),
		stall:     5 * time.Minute, // an operator reads the table in a pager
		requests:  make(chan struct{}, 128),
		streams:   make(chan struct{}, 16),
		listeners: make(map[string]*listener),
	}
	s.metrics = metricsOf(o.Backend, o.Log)
	s.http = &http.Server{
		Handler:           s.guarded(s.mux()),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if a, ok := c.(*accepted); ok {
				return withConn(ctx, a)
			}
			return ctx
		},
	}
	return s
}

// Listen makes sockets the set of control sockets: it opens the new ones, closes
// those no longer listed and leaves equal ones alone. When one cannot be opened,
// nothing changes. Requests that are being answered are never cut.
func (s *Server) Listen(ctx context.Context, sockets []config.Socket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return http.ErrServerClosed
	}
	next := make(map[string]*listener)
	var opened []*listener
	fail := func(err error) error {
		for _, l := range opened {
			l.Close()
		}
		return err
	}
	for _, want := range sockets {
		if have := s.listeners[want.Path]; have != nil {
			next[want.Path] = &listener{have.UnixListener, want}
			continue
		}
		l, err := listen(ctx, want)
		if err != nil {
			return fail(err)
		}
		next[want.Path] = l
		opened = append(opened, l)
	}
	if err := s.regroup(next); err != nil {
		return fail(err)
	}
	for path, l := range s.listeners {
		if next[path] == nil {
			l.Close()
		}
	}
	s.listeners = next
	for _, l := range opened {
		s.running.Go(func() { s.serve(l) })
	}
	if s.stop == nil {
		sampling, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.running.Go(func() { s.sample(sampling) })
	}
	return nil
}

// regroup gives the open sockets that change their group to the new one.
func (s *Server) regroup(next map[string]*listener) error {
	for path, have := range s.listeners {
		want := next[path]
		if want == nil || want.Group == have.Group {
			continue
		}
		gid, err := groupID(want.Group)
		if err == nil {
			err = own(path, gid)
		}
		if err != nil {
			return fmt.Errorf("control socket %s: %w", path, err)
		}
	}
	return nil
}

// serve accepts on l until l is closed.
func (s *Server) serve(l *listener) {
	err := s.http.Serve(&acceptor{l})
	if !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("control socket no longer served", "socket", l.Path, "error", err)
	}
}

// access returns what the control socket at path allows now.
func (s *Server) access(path string) config.Access {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.listeners[path]; l != nil {
		return l.Access
	}
	return config.AccessRead
}

// Close stops listening, removes the sockets, waits for running requests until ctx
// ends and then cuts them.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	for _, l := range slices.Collect(maps.Values(s.listeners)) {
		l.Close()
	}
	s.mu.Unlock()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, net.ErrClosed) { // a listener closed above that serve had not let go of
		err = nil
	}
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.running.Wait()
	return err
}

// Metrics serves /metrics, /healthz and /readyz alone, for a TCP listener.
func (s *Server) Metrics() http.Handler {
	mux := http.NewServeMux()
	s.observe(mux)
	return s.guarded(mux)
}

type connKey struct{}

// withConn makes the connection a request came by known to what answers it.
func withConn(ctx context.Context, a *accepted) context.Context {
	return context.WithValue(ctx, connKey{}, a)
}

// accepted is a control connection that knows its socket and its peer.
type accepted struct {
	net.Conn
	socket string
	peer   peer
}

// acceptor marks what it accepts.
type acceptor struct{ *listener }

func (a *acceptor) Accept() (net.Conn, error) {
	c, err := a.listener.Accept()
	if err != nil {
		return nil, err
	}
	return &accepted{c, a.Path, peerOf(c)}, nil
}
