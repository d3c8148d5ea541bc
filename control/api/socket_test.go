package api_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"routerd/config"
	"routerd/control/api"
	"routerd/control/api/apitest"
)

func newServer(t *testing.T) *api.Server {
	s := api.NewServer(api.Options{Backend: apitest.Edge(), Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func full(path string) []config.Socket {
	return []config.Socket{{Path: path, Access: config.AccessFull}}
}

func TestSocketMode(t *testing.T) {
	path := filepath.Join(socketDir(t), "run", "routerd.sock")
	if err := newServer(t).Listen(t.Context(), full(path)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestStaleSocket holds that the socket of a killed routerd is no obstacle.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(socketDir(t), "routerd.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if err := newServer(t).Listen(t.Context(), full(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := api.NewClient(path).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSecondServer(t *testing.T) {
	path := filepath.Join(socketDir(t), "routerd.sock")
	if err := newServer(t).Listen(t.Context(), full(path)); err != nil {
		t.Fatal(err)
	}
	err := newServer(t).Listen(t.Context(), full(path))
	if !errors.Is(err, api.ErrRunning) {
		t.Errorf("second server: %v", err)
	}
	if want := fmt.Sprintf("(pid %d)", os.Getpid()); runtime.GOOS == "linux" && !strings.Contains(err.Error(), want) {
		t.Errorf("second server: %v, want %s in it", err, want)
	}
	if _, err := api.NewClient(path).Status(t.Context()); err != nil {
		t.Errorf("the first one was disturbed: %v", err)
	}
}

func TestListenErrors(t *testing.T) {
	dir := socketDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		socket config.Socket
		says   string
	}{
		{config.Socket{Path: file}, "is no socket"},
		{config.Socket{Path: filepath.Join(dir, strings.Repeat("x", 200))}, "the system allows 103"},
		{config.Socket{Path: filepath.Join(dir, "g"), Group: "no-such-group"}, `group "no-such-group" does not exist`},
		{config.Socket{Path: filepath.Join(file, "s")}, "not a directory"},
	} {
		s := newServer(t)
		good := filepath.Join(dir, "good.sock")
		err := s.Listen(t.Context(), append(full(good), tc.socket))
		if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.HasPrefix(err.Error(), "control socket "+tc.socket.Path) {
			t.Errorf("%s: %v, want %q", tc.socket.Path, err, tc.says)
		}
		if _, err := os.Lstat(good); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a failed Listen left %s behind", good)
		}
	}
}

// TestListenAgain changes the set of sockets while it is in use.
func TestListenAgain(t *testing.T) {
	dir := socketDir(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	s := newServer(t)
	if err := s.Listen(t.Context(), full(a)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(a)
	keep := api.NewClient(a)
	if _, err := keep.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context(), append(full(b), config.Socket{Path: a, Access: config.AccessRead})); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(a); !os.SameFile(before, after) {
		t.Error("a socket that stays was opened again")
	}
	if _, err := keep.ApplyConfig(t.Context(), api.ConfigSource{}); !errors.Is(err, api.ErrReadOnly) {
		t.Errorf("apply on a socket that became read-only: %v", err)
	}
	if err := s.Listen(t.Context(), full(b)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(a); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a socket that is no longer listed is still there")
	}
	if _, err := keep.Status(t.Context()); err != nil {
		t.Errorf("an open connection was cut: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(b); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Close left a socket behind")
	}
}

func TestUnreachable(t *testing.T) {
	dir := socketDir(t)
	dead := filepath.Join(dir, "dead")
	l, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for path, says := range map[string]string{
		filepath.Join(dir, "none"): "is routerd running?",
		dead:                       "routerd has died",
	} {
		_, err := api.NewClient(path).Status(t.Context())
		if !errors.Is(err, api.ErrUnreachable) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
