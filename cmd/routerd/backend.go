package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"routerd/config"
	"routerd/control/api"
)

// The router answers for itself, from its own RIB, the shared counters and what BGP and
// the forwarding process have told it; never by asking GoBGP.
var _ api.Backend = (*router)(nil)

// Status implements api.Backend.
func (r *router) Status(context.Context) (api.Status, error) {
	routes := r.rib.Status()
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := api.Status{
		Hostname:  r.cfg.Router.Name,
		Version:   buildVersion(),
		AS:        r.cfg.Router.AS,
		RouterID:  r.cfg.Router.ID,
		PID:       os.Getpid(),
		Started:   r.started,
		Config:    r.configStatus(),
		FIBRoutes: routes.InFIB + routes.Stale,
		FIBStale:  routes.Stale,
		FIBFailed: routes.Failed,
		Unhealthy: []string{},
		NotReady:  []string{},
		Warnings:  r.cfg.Warnings(),
	}
	if s.Hostname == "" {
		s.Hostname, _ = os.Hostname()
	}
	if s.Warnings == nil {
		s.Warnings = []string{}
	}
	s.Dataplane = r.dataplaneStatus()
	if r.plane == nil {
		s.Unhealthy = append(s.Unhealthy, "the forwarding process is not running")
	} else if d := r.plane.difference(r.cfg); d != "" {
		s.Warnings = append(s.Warnings, d)
	}
	s.PortsUp.Max = len(r.cfg.Ports)
	for _, p := range r.cfg.Ports {
		status, ok := r.portStatus(p.Name)
		switch {
		case ok && status.Up:
			s.PortsUp.Used++
		case ok && status.Error != "":
			s.Unhealthy = append(s.Unhealthy, fmt.Sprintf("port %s: %s", p.Name, status.Error))
		default:
			s.NotReady = append(s.NotReady, fmt.Sprintf("port %s is down", p.Name))
		}
	}
	for _, n := range r.bgp.Neighbors() {
		s.Sessions.Max++
		switch {
		case n.State != string(api.SessionEstablished):
			s.NotReady = append(s.NotReady, fmt.Sprintf("neighbor %s is %s", n.Address, n.State))
			continue
		case !n.EndOfRIB && n.Import != "" && time.Since(n.Since) < patience:
			s.NotReady = append(s.NotReady, fmt.Sprintf("neighbor %s has not sent its whole table", n.Address))
		}
		s.Sessions.Used++
	}
	if !r.up.Load() {
		s.NotReady = append(s.NotReady, "routerd is starting")
	}
	if r.unswept != nil && routes.Stale > 0 {
		s.NotReady = append(s.NotReady, fmt.Sprintf("%d routes from before the restart wait to be relearned from %v", routes.Stale, r.unswept.waiting()))
	}
	if routes.Failed > 0 {
		s.Unhealthy = append(s.Unhealthy, fmt.Sprintf("%d routes do not fit the FIB; see routerctl show fib --count", routes.Failed))
	}
	if routes.Dropping > 0 {
		s.Unhealthy = append(s.Unhealthy, fmt.Sprintf("%d routes drop because the FIB has no room for their next hops", routes.Dropping))
	}
	return s, nil
}

// patience is how long an End-of-RIB is waited for before the router calls itself ready;
// a neighbour without graceful restart may never send one.
const patience = 2 * time.Minute

// dataplaneStatus is called under mu.
func (r *router) dataplaneStatus() api.Dataplane {
	d := api.Dataplane{Idle: string(r.cfg.Dataplane.Idle), Restarts: r.restarts, Workers: []api.Worker{}}
	if r.plane == nil {
		return d
	}
	w := r.plane.client.Welcome()
	d.PID, d.Started, d.Idle = w.PID, w.Started, w.Setup.Idle
	for i := range w.Setup.Workers {
		c := r.plane.state.Worker(i)
		all, busy := r.plane.state.Rounds(i)
		d.Workers = append(d.Workers, api.Worker{ID: i, CPU: w.Setup.CPU(i), InPkts: c.RxPackets, OutPkts: c.TxPackets,
			Dropped: c.AllDrops(), Punted: c.AllPunts(), Rounds: all, BusyRounds: busy})
	}
	return d
}

// Config implements api.Backend.
func (r *router) Config(context.Context) (api.Config, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return api.Config{ConfigStatus: r.configStatus(), Text: string(config.Format(r.cfg))}, nil
}

// configStatus is called under mu.
func (r *router) configStatus() api.ConfigStatus {
	path := r.configPath
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return api.ConfigStatus{Path: path, Revision: r.revision, Applied: r.applied, AppliedBy: r.appliedBy}
}

// PlanConfig implements api.Backend.
func (r *router) PlanConfig(_ context.Context, src api.ConfigSource) (api.ConfigPlan, error) {
	name, cfg, err := r.source(src)
	if err != nil {
		return api.ConfigPlan{}, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	p := api.ConfigPlan{File: name, Changes: []string{}, Diff: config.TextDiff(r.cfg, cfg)}
	for _, c := range config.Diff(r.cfg, cfg) {
		p.Changes = append(p.Changes, c.String())
	}
	return p, nil
}

// ApplyConfig implements api.Backend.
func (r *router) ApplyConfig(ctx context.Context, src api.ConfigSource, by string) (api.ConfigApplied, error) {
	name, cfg, err := r.source(src)
	if err != nil {
		return api.ConfigApplied{}, err
	}
	var out api.ConfigApplied
	if !r.do(func() {
		// A client that hangs up must not leave half a change.
		out.Changes, out.Notes, err = r.apply(context.WithoutCancel(ctx), cfg, by)
		out.Revision, out.By = r.revision, by
	}) {
		return out, fmt.Errorf("%w: routerd is stopping", api.ErrUnavailable)
	}
	if err != nil {
		return api.ConfigApplied{}, err
	}
	if out.Changes == nil {
		out.Changes = []string{}
	}
	if src.Text != nil {
		if own, _, err := config.Load(r.configPath); err != nil || len(config.Diff(own, cfg)) > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("a restart or SIGHUP loads %s, which says something else than %s", r.configPath, name))
		}
	}
	return out, nil
}

// source reads the configuration that src names.
func (r *router) source(src api.ConfigSource) (name string, cfg *config.Config, err error) {
	if src.Text == nil {
		cfg, _, err = config.Load(r.configPath)
		var invalid config.Errors
		if err != nil && !errors.As(err, &invalid) {
			err = fmt.Errorf("%w: %w", api.ErrRefused, err)
		}
		return r.configPath, cfg, err
	}
	cfg, err = config.Parse(src.Name, src.Text)
	return src.Name, cfg, err
}

// BGP implements api.Backend.
func (r *router) BGP(context.Context) (api.BGP, error) {
	r.mu.RLock()
	b := api.BGP{AS: r.cfg.Router.AS, RouterID: r.cfg.Router.ID, Neighbors: []api.BGPNeighbor{}}
	configured := map[string]config.Neighbor{}
	if r.cfg.BGP != nil {
		for _, n := range r.cfg.BGP.Neighbors {
			configured[n.Address.String()] = n
		}
	}
	r.mu.RUnlock()
	lag := r.bgp.Lag()
	for _, n := range r.bgp.Neighbors() {
		c := configured[n.Address.String()]
		v := api.BGPNeighbor{
			Address: n.Address, AS: n.AS, Description: n.Description, Internal: n.Internal,
			State: api.SessionState(n.State), Since: n.Since, RouterID: n.RouterID,
			Received: n.Received, Accepted: n.Accepted, Advertised: n.Originated,
			MaxPrefixes: n.MaxPrefixes, ImportPolicy: n.Import, ExportPolicy: n.Export,
			HoldTime: int(c.HoldTime / time.Second), Negotiated: int(n.HoldTime / time.Second),
			TCPMD5: c.PasswordFile != "", TTLSecurity: c.TTLSecurity,
			CapsReceived: n.Capabilities, EndOfRIB: n.EndOfRIB, InUpdates: n.Updates, QueueDepth: lag.Waiting, WorstLag: lag.Worst.Seconds(),
			RetryAt: n.RetryAt,
		}
		for _, f := range n.Refused {
			v.Refused = append(v.Refused, api.Refused{Reason: f.Reason, Routes: f.Routes})
		}
		if !n.LastDown.IsZero() {
			v.LastDown = &api.Down{Time: n.LastDown, Reason: n.LastDownReason}
		}
		if v.State != api.SessionEstablished {
			v.Advertised = 0 // what it would hear
		}
		if note := n.Note(); note != "" {
			v.Notes = append(v.Notes, note)
		}
		b.Neighbors = append(b.Neighbors, v)
	}
	return b, nil
}

// neighborState is an RFC 4861 state as the API writes it.
func neighborState(s string) api.NeighborState { return api.NeighborState(strings.ToLower(s)) }
