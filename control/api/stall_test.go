package api

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"routerd/config"
)

// endless is a Backend whose FIB never ends. It closes done when it may stop.
type endless struct {
	empty
	done chan struct{}
}

func (e endless) FIB(context.Context, FIBQuery) iter.Seq2[FIBEntry, error] {
	return func(yield func(FIBEntry, error) bool) {
		defer close(e.done)
		for yield(FIBEntry{}, nil) {
		}
	}
}

// TestStall holds that a client that stays but never reads is cut off.
func TestStall(t *testing.T) {
	b := endless{done: make(chan struct{})}
	s := NewServer(Options{Backend: b, Log: slog.New(slog.DiscardHandler)})
	s.stall = 10 * time.Millisecond
	path := filepath.Join(t.TempDir(), "s")
	if err := s.Listen(t.Context(), []config.Socket{{Path: path}}); err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/fib HTTP/1.1\r\nHost: routerd\r\n\r\n")
	<-b.done // hangs until the test's deadline if nobody cuts it off
}
