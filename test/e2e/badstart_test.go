//go:build linux

package e2e

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"routerd/test/edge"
)

// refused starts a second routerd that must not run, and returns its one line.
func (w *world) refused(wantCode int, cmd *exec.Cmd) string {
	w.t.Helper()
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != wantCode {
		w.t.Errorf("%v, want exit code %d\n%s", err, wantCode, out)
	}
	var said []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "time=") { // not the log
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) == 0 {
		w.t.Errorf("it says nothing but its log:\n%s", out)
		return ""
	}
	if len(said) > 1 && wantCode != 3 {
		w.t.Errorf("it says %d lines, want one:\n%s", len(said), out)
	}
	return strings.Join(said, "\n")
}

func (w *world) routerd(config, runDir string) *exec.Cmd {
	return w.Router.Command(programs+"/routerd", "-c", config, "--run-dir", runDir)
}

// variant writes another configuration file.
func (w *world) variant(name, old, replacement string) string {
	w.t.Helper()
	text := w.Config(w.Path(name+".sock"), "")
	changed := strings.Replace(text, old, replacement, 1)
	if old != "" && changed == text {
		w.t.Fatalf("no %q in the configuration", old)
	}
	file := w.Path(name + ".conf")
	w.try(os.WriteFile(file, []byte(changed), 0o644), os.MkdirAll(w.Path(name), 0o755))
	return file
}

func (w *world) says(line string, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(line, part) {
			w.t.Errorf("message %q does not mention %q", line, part)
		}
	}
}

func TestMissingNIC(t *testing.T) {
	w := lay(t, 1, time.Minute)
	before := w.interfaces()
	config := w.variant("missing", "xdp:up0", "xdp:nosuch0")
	w.says(w.refused(1, w.routerd(config, w.Path("missing"))), "up0", "nosuch0", "lan0")
	w.nothingLeft(before)
}

func TestBadStartsBesideARunningRouter(t *testing.T) {
	w := start(t, 1, 2*time.Minute)
	before := w.status()

	t.Run("busy NIC", func(t *testing.T) {
		config := w.variant("busy", "", "")
		w.says(w.refused(1, w.routerd(config, w.Path("busy"))), "lan0")
	})
	t.Run("second routerd", func(t *testing.T) {
		w.says(w.refused(1, w.routerd(w.router.ConfigFile, w.router.RunDir)), "already running", strconv.Itoa(w.router.PID()))
	})
	t.Run("no root", func(t *testing.T) {
		config := w.variant("noroot", "", "")
		cmd := exec.Command(programs+"/routerd", "-c", config, "--run-dir", w.Path("noroot"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		// The files must be readable on the way, or only the path would be refused.
		w.try(os.Chmod(w.Path("noroot"), 0o777))
		for dir := w.Dir; dir != os.TempDir() && len(dir) > 1; dir = dir[:strings.LastIndexByte(dir, '/')] {
			w.try(os.Chmod(dir, 0o755))
		}
		w.says(w.refused(1, cmd), "root")
	})
	t.Run("bad configuration", func(t *testing.T) {
		config := w.variant("bad", "addresses", "adresses")
		w.says(w.refused(3, w.routerd(config, w.Path("bad"))), "bad.conf:", `did you mean "addresses"?`)
	})
	t.Run("no configuration", func(t *testing.T) {
		w.says(w.refused(1, w.routerd(w.Path("nosuch.conf"), w.Path("bad"))), "nosuch.conf")
	})

	after := w.status()
	if before.PID != after.PID || before.Dataplane.PID != after.Dataplane.PID || !w.hasXDP("lan0") {
		t.Errorf("a refused start disturbed the running router: %+v, was %+v", after, before)
	}
}

func TestStaleSocketIsNoObstacle(t *testing.T) {
	w := lay(t, 1, time.Minute)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.router.Socket, Net: "unix"})
	w.try(err)
	l.SetUnlinkOnClose(false) // as after a SIGKILL
	w.try(l.Close(), w.router.Start(w.ctx), w.router.Shutdown(w.ctx))
}

func TestRouterctlSaysWhenNobodyAnswers(t *testing.T) {
	w := lay(t, 1, time.Minute)
	_, err := w.router.Ctl("show", "status")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 4 {
		t.Errorf("got %v, want exit code 4", err)
	}
	if err != nil {
		w.says(err.Error(), w.router.Socket, "running")
	}
	w.try(w.router.Start(w.ctx))
	_, err = w.router.Ctl("show", "fib", edge.LANHost.String())
	w.try(err)
	_, err = w.router.Ctl("show", "fib", "203.0.113.1")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 5 {
		t.Errorf("address without a route: %v, want exit code 5", err)
	}
}
