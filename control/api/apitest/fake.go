// Package apitest is a Backend for tests: an edge router with two transits and an
// exchange at a fixed moment, Now. Its tables are copied on every call; a test may
// replace them before it serves the Backend.
package apitest

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"time"

	"routerd/control/api"
)

// Now is the moment the data of a Fake describes.
var Now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return Now.Add(-d) }

// Fake is an api.Backend over fixed tables.
type Fake struct {
	StatusTable    api.Status
	Entries        []api.FIBEntry // by address, then length
	Counts         api.FIBCounts
	RouteTable     []api.Route // by address, then length
	BGPTable       api.BGP
	PortTable      []api.Port
	NeighborTable  []api.Neighbor
	DropTable      []api.Drop
	RunningConfig  api.Config
	Plan           api.ConfigPlan
	ApplyErr       error // what ApplyConfig and PlanConfig return
	BackendErr     error // what everything else returns
	RepeatEntries  int   // FIB yields Entries this many times more
	FailAfterRows  int   // FIB fails with BackendErr after this many rows; 0: at once
	Panic          bool  // FIBCounts panics
	OnYield        func(n int)
	OnStreamFinish func(rows int)

	mu      sync.Mutex
	applied []Applied
}

// Applied is one call of ApplyConfig.
type Applied struct {
	Source api.ConfigSource
	By     string
}

var _ api.Backend = (*Fake)(nil)

// Applied returns the calls of ApplyConfig so far.
func (f *Fake) Applied() []Applied {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.applied)
}

// Status implements api.Backend.
func (f *Fake) Status(context.Context) (api.Status, error) { return f.StatusTable, f.BackendErr }

// FIB implements api.Backend.
func (f *Fake) FIB(ctx context.Context, q api.FIBQuery) iter.Seq2[api.FIBEntry, error] {
	return func(yield func(api.FIBEntry, error) bool) {
		rows := 0
		if f.OnStreamFinish != nil {
			defer func() { f.OnStreamFinish(rows) }()
		}
		list := selected(q.Query, f.Entries, func(e api.FIBEntry) netip.Prefix { return e.Prefix })
		for range f.RepeatEntries + 1 {
			for _, e := range list {
				if f.BackendErr != nil && rows == f.FailAfterRows {
					yield(api.FIBEntry{}, f.BackendErr)
					return
				}
				rows++
				if f.OnYield != nil {
					f.OnYield(rows)
				}
				if !yield(e, ctx.Err()) {
					return
				}
			}
		}
	}
}

// FIBCounts implements api.Backend.
func (f *Fake) FIBCounts(context.Context) (api.FIBCounts, error) {
	if f.Panic {
		panic("the fake was told to")
	}
	return f.Counts, f.BackendErr
}

// Routes implements api.Backend.
func (f *Fake) Routes(_ context.Context, q api.RouteQuery) iter.Seq2[api.Route, error] {
	return func(yield func(api.Route, error) bool) {
		if f.BackendErr != nil {
			yield(api.Route{}, f.BackendErr)
			return
		}
		for _, r := range selected(q.Query, f.RouteTable, func(r api.Route) netip.Prefix { return r.Prefix }) {
			if !q.Address.IsValid() {
				r.Covering = nil
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// selected returns what q asks for of list.
func selected[T any](q api.Query, list []T, prefixOf func(T) netip.Prefix) []T {
	var out []T
	for _, e := range list {
		p := prefixOf(e)
		switch {
		case q.Address.IsValid():
			if p.Contains(q.Address) {
				out = []T{e} // the list is ordered: the last is the longest
			}
		case !q.Prefix.IsValid(), p == q.Prefix,
			q.Longer && p.Bits() >= q.Prefix.Bits() && q.Prefix.Contains(p.Addr()):
			out = append(out, e)
		}
	}
	return out
}

// BGP implements api.Backend.
func (f *Fake) BGP(context.Context) (api.BGP, error) { return f.BGPTable, f.BackendErr }

// Ports implements api.Backend.
func (f *Fake) Ports(context.Context) ([]api.Port, error) {
	ports := slices.Clone(f.PortTable)
	for i := range ports {
		ports[i].Queues = slices.Clone(ports[i].Queues)
	}
	return ports, f.BackendErr
}

// Neighbors implements api.Backend.
func (f *Fake) Neighbors(context.Context) ([]api.Neighbor, error) {
	return f.NeighborTable, f.BackendErr
}

// Drops implements api.Backend.
func (f *Fake) Drops(context.Context) ([]api.Drop, error) { return f.DropTable, f.BackendErr }

// Config implements api.Backend.
func (f *Fake) Config(context.Context) (api.Config, error) { return f.RunningConfig, f.BackendErr }

// PlanConfig implements api.Backend.
func (f *Fake) PlanConfig(_ context.Context, src api.ConfigSource) (api.ConfigPlan, error) {
	p := f.Plan
	if src.Text != nil {
		p.File = src.Name
	}
	return p, f.ApplyErr
}

// ApplyConfig implements api.Backend.
func (f *Fake) ApplyConfig(_ context.Context, src api.ConfigSource, by string) (api.ConfigApplied, error) {
	if f.ApplyErr != nil {
		return api.ConfigApplied{}, f.ApplyErr
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = append(f.applied, Applied{src, by})
	a := api.ConfigApplied{Revision: 41 + len(f.applied), By: by, Changes: f.Plan.Changes}
	if src.Text != nil {
		a.Notes = []string{fmt.Sprintf("%s does not hold what runs now: a restart of routerd goes back to it", f.RunningConfig.Path)}
	}
	return a, nil
}
