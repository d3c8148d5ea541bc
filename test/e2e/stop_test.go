//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/test/lab"
)

func TestSIGTERMGivesTheInterfacesBack(t *testing.T) {
	w := lay(t, 1, time.Minute)
	// What routerd finds, it must leave: an address and an MTU of the operator's own.
	w.try(w.Router.IP("address", "add", "172.31.0.1/24", "dev", "lan0"),
		w.Router.IP("link", "set", "up0", "mtu", "1400"))
	before := w.interfaces()
	w.try(w.router.Start(w.ctx))
	w.speak(0, far)
	w.try(w.router.Shutdown(w.ctx))
	w.nothingLeft(before)
}

func TestSIGTERMDuringTheStart(t *testing.T) {
	for _, moment := range []string{"forwarding process ready", "port open", "port open.*up0"} {
		t.Run(moment, func(t *testing.T) {
			w := lay(t, 1, time.Minute)
			before := w.interfaces()
			w.try(w.router.Launch())
			_, err := w.router.AwaitLine(w.ctx, moment)
			w.try(err)
			_, err = w.router.Stop(w.ctx, syscall.SIGTERM)
			w.try(err)
			w.nothingLeft(before)
		})
	}
}

// nothingLeft checks that no process is left in the router's namespace and that
// its interfaces are as they were.
func (w *world) nothingLeft(before interfaces) {
	w.t.Helper()
	if diff := cmp.Diff(before, w.interfaces()); diff != "" {
		w.t.Errorf("interfaces before and after:\n%s", diff)
	}
	w.try(lab.Await(w.brief(), "the last process to end", func() error {
		out, err := exec.Command("ip", "netns", "pids", w.Router.Name).Output()
		if left := strings.Fields(string(out)); err == nil && len(left) > 0 {
			err = fmt.Errorf("processes %v are left", left)
		}
		return err
	}))
}

// interfaces is what ip shows of links and of addresses.
type interfaces [2][]map[string]any

func (w *world) interfaces() (state interfaces) {
	w.t.Helper()
	for i, object := range []string{"link", "address"} {
		out, err := w.Router.Output("ip", "-d", "-j", object)
		w.try(err, json.Unmarshal(out, &state[i]))
	}
	return state
}
