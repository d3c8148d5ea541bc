//go:build linux

package edge

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"routerd/control/api"
	"routerd/test/lab"
)

// Router is the routerd under test.
type Router struct {
	*lab.Process // the control process, once started
	API          *api.Client
	Socket       string
	ConfigFile   string
	RunDir       string
	space        *lab.Namespace
	programs     string
}

// NewRouter writes the network's configuration for a routerd whose programs lie in
// a directory. Nothing is started.
func (n *Network) NewRouter(programs, extraConfig string) (*Router, error) {
	r := &Router{
		Socket: n.Path("routerd.sock"), ConfigFile: n.Path("routerd.conf"), RunDir: n.Path("run"),
		space: n.Router, programs: programs,
	}
	r.API = api.NewClient(r.Socket)
	return r, errors.Join(os.MkdirAll(r.RunDir, 0o755), r.WriteConfig(n.Config(r.Socket, extraConfig)))
}

// WriteConfig replaces the configuration file, not the running configuration.
func (r *Router) WriteConfig(text string) error {
	return os.WriteFile(r.ConfigFile, []byte(text), 0o644)
}

// Start starts the control process and waits until it is ready.
func (r *Router) Start(ctx context.Context) error {
	if err := r.Launch(); err != nil {
		return err
	}
	_, err := r.AwaitLine(ctx, "routerd ready")
	return err
}

// Launch starts the control process and does not wait for it.
func (r *Router) Launch() (err error) {
	r.Process, err = r.space.Start("routerd", r.programs+"/routerd", "-c", r.ConfigFile, "--run-dir", r.RunDir)
	return err
}

// Ctl runs routerctl against the router and returns its output.
func (r *Router) Ctl(args ...string) ([]byte, error) {
	return r.space.Output(append([]string{r.programs + "/routerctl", "-s", r.Socket}, args...)...)
}

// AwaitSession waits until a BGP session is Established.
func (r *Router) AwaitSession(ctx context.Context, neighbor netip.Addr) error {
	return lab.Await(ctx, "the session with "+neighbor.String(), func() error {
		b, err := r.API.BGP(ctx, neighbor.String())
		if err != nil {
			return err
		}
		if n, ok := b.Find(neighbor.String()); !ok || n.State != api.SessionEstablished {
			return fmt.Errorf("neighbor %+v\n%s", n, r.Tail())
		}
		return nil
	})
}

// FIB returns the FIB entries that answer a query.
func (r *Router) FIB(ctx context.Context, q api.FIBQuery) ([]api.FIBEntry, error) {
	var entries []api.FIBEntry
	for e, err := range r.API.FIB(ctx, q) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// AwaitRoute waits until the FIB sends a prefix to a gateway on a route of eBGP
// that is not a stale one.
func (r *Router) AwaitRoute(ctx context.Context, prefix string, gateway netip.Addr) error {
	q := api.FIBQuery{Query: api.Query{Prefix: netip.MustParsePrefix(prefix)}}
	return lab.Await(ctx, prefix+" via "+gateway.String(), func() error {
		entries, err := r.FIB(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Source == api.SourceEBGP && !e.Stale && len(e.NextHops) == 1 && e.NextHops[0].Address == gateway {
				return nil
			}
		}
		return fmt.Errorf("the FIB has %+v", entries)
	})
}

// AwaitNoRoute waits until the FIB has no entry for a prefix.
func (r *Router) AwaitNoRoute(ctx context.Context, prefix string) error {
	q := api.FIBQuery{Query: api.Query{Prefix: netip.MustParsePrefix(prefix)}}
	return lab.Await(ctx, "no "+prefix+" in the FIB", func() error {
		entries, err := r.FIB(ctx, q)
		if errors.Is(err, api.ErrNotFound) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("the FIB has %+v", entries))
	})
}

// DataplanePID returns the process id of the forwarding process, 0 while none runs.
func (r *Router) DataplanePID(ctx context.Context) (int, error) {
	status, err := r.API.Status(ctx)
	return status.Dataplane.PID, err
}

// PortCounters returns routerd's own counters of its ports by name.
func (r *Router) PortCounters(ctx context.Context) (map[string]api.Counters, error) {
	ports, err := r.API.Ports(ctx, "")
	if err != nil {
		return nil, err
	}
	counters := map[string]api.Counters{}
	for _, p := range ports.Ports {
		counters[p.Name] = p.Counters
	}
	return counters, nil
}

// Shutdown ends the router as an operator does and waits for its end.
func (r *Router) Shutdown(ctx context.Context) error {
	code, err := r.Stop(ctx, syscall.SIGTERM)
	if err == nil && code != 0 {
		err = fmt.Errorf("routerd ends with code %d after SIGTERM\n%s", code, r.Tail())
	}
	return err
}
