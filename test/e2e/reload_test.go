//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/control/api"
	"routerd/test/lab"
)

func isNotFound(err error) bool { return errors.Is(err, api.ErrNotFound) }

// steady is what a change elsewhere must not touch.
type steady struct {
	Dataplane   int
	Session     time.Time
	Transitions map[string]uint64
}

func (w *world) steady(upstream int) steady {
	w.t.Helper()
	s := steady{Dataplane: w.status().Dataplane.PID, Session: w.neighbor(w.Upstreams[upstream].Address).Since, Transitions: map[string]uint64{}}
	ports, err := w.router.API.Ports(w.ctx, "")
	w.try(err)
	for _, p := range ports.Ports {
		s.Transitions[p.Name] = p.Transitions
	}
	return s
}

func TestReloadTouchesOnlyWhatChanged(t *testing.T) {
	w := start(t, 2, 2*time.Minute)
	w.speak(0, far)
	w.speak(1, lost)
	before := w.steady(0)
	stream := w.flood(0, addresses(far, 100))
	text := w.Config(w.router.Socket, "")

	t.Run("static route by SIGHUP", func(t *testing.T) {
		text += "\nroute \"100.64.0.0/10\" { via = [\"192.0.2.10\"] }\n"
		w.try(w.router.WriteConfig(text), w.router.Signal(syscall.SIGHUP))
		w.try(lab.Await(w.ctx, "the static route", func() error {
			out, err := w.router.Ctl("show", "fib", "100.64.0.0/10")
			if err == nil && !strings.Contains(string(out), "static") {
				err = errors.New(string(out))
			}
			return err
		}))
		if diff := cmp.Diff(before, w.steady(0)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("neighbour by config apply", func(t *testing.T) {
		second := w.Upstreams[1].Address
		session := w.neighbor(second).Since
		text = strings.Replace(text, "as          = 64497", "as          = 64511", 1)
		w.try(w.router.WriteConfig(text))
		out, err := w.router.Ctl("config", "apply", w.router.ConfigFile)
		w.try(err)
		if !strings.Contains(string(out), "neighbor "+second.String()) {
			t.Errorf("config apply does not name the neighbour:\n%s", out)
		}
		w.try(w.router.AwaitNoRoute(w.ctx, lost))
		if n := w.neighbor(second); n.State == api.SessionEstablished || n.AS != 64511 || n.Since.Equal(session) {
			t.Errorf("neighbour after the change: %+v", n)
		}
		if diff := cmp.Diff(before, w.steady(0)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("bad file", func(t *testing.T) {
		revision := w.status().Config.Revision
		bad := strings.Replace(text, "addresses", "adresses", 1)
		w.try(w.router.WriteConfig(bad))
		_, err := w.router.Ctl("config", "apply", w.router.ConfigFile)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
			t.Errorf("config apply of a bad file: %v, want exit code 3", err)
		}
		if err == nil || !strings.Contains(err.Error(), `did you mean "addresses"?`) {
			t.Errorf("config apply of a bad file says %v", err)
		}
		w.try(w.router.Signal(syscall.SIGHUP))
		_, err = w.router.AwaitLine(w.ctx, "did you mean")
		w.try(err)
		if got := w.status().Config.Revision; got != revision {
			t.Errorf("revision %d became %d", revision, got)
		}
		if diff := cmp.Diff(before, w.steady(0)); diff != "" {
			t.Error(diff)
		}
	})
	report, err := stream.Stop()
	w.try(err)
	t.Log(report)
	if !report.Clean() {
		t.Error(fmt.Errorf("the flood did not pass unharmed: %s", report))
	}
}
