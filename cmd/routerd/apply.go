package main

import (
	"context"
	"fmt"
	"slices"

	"routerd/config"
	"routerd/control/api"
	"routerd/dataplane/attach"
)

// apply makes cfg the running configuration, touching only what differs. On error
// everything is as it was. It runs in run's goroutine.
func (r *router) apply(ctx context.Context, cfg *config.Config, by string) (changes, notes []string, err error) {
	old := r.cfg
	if config.TextDiff(old, cfg) == "" {
		if r.plane != nil {
			err = r.assertPorts(ctx)
		}
		return nil, nil, err
	}
	plan := config.Diff(old, cfg)
	touched := map[config.Kind]bool{}
	for _, c := range plan {
		touched[c.Kind] = true
		changes = append(changes, c.String())
	}
	if touched[config.KindDataplane] {
		notes = append(notes, "the forwarding process keeps its workers, CPUs, idle mode and buffers until routerd is stopped with SIGTERM and started again")
	}
	if touched[config.KindSocket] {
		if err := r.api.Listen(ctx, cfg.Control); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", api.ErrRefused, err)
		}
	}
	if touched[config.KindPort] {
		if err := r.applyPorts(ctx, old, cfg); err != nil {
			_ = r.api.Listen(ctx, old.Control)
			return nil, nil, fmt.Errorf("%w: %w", api.ErrRefused, err)
		}
	}
	r.rib.SetMultipath(multipath(cfg))
	r.rib.SetStatics(statics(cfg.Routes))
	if touched[config.KindBGP] || touched[config.KindNeighbor] || touched[config.KindPolicy] ||
		touched[config.KindPrefixList] || touched[config.KindRouter] {
		if err := r.bgp.Apply(ctx, cfg); err != nil {
			r.rib.SetMultipath(multipath(old))
			r.rib.SetStatics(statics(old.Routes))
			undo := []error{r.bgp.Apply(ctx, old), r.api.Listen(ctx, old.Control)}
			if touched[config.KindPort] {
				undo = append(undo, r.applyPorts(ctx, cfg, old))
			}
			for _, u := range undo {
				if u != nil {
					r.log.Error("going back to the configuration before", "error", u)
				}
			}
			return nil, nil, fmt.Errorf("%w: %w", api.ErrRefused, err)
		}
	}
	r.adopt(cfg, by)
	r.stopExpecting(cfg)
	return changes, notes, nil
}

// applyPorts brings the ports from old to cfg, or leaves them as they were.
func (r *router) applyPorts(ctx context.Context, old, cfg *config.Config) error {
	if r.plane == nil {
		return fmt.Errorf("the forwarding process is not running; ports cannot change now")
	}
	// Routes leave a port before the port goes: its index may be another's afterwards.
	before := attach.PortStatusList{Ports: r.lastPorts()}
	staying := slices.DeleteFunc(slices.Clone(before.Ports), func(s attach.PortStatus) bool {
		return !slices.ContainsFunc(cfg.Ports, func(p config.Port) bool {
			return p.Name == s.Name && p.Device == s.Device && p.Queues == s.Queues
		})
	})
	r.rib.SetPorts(ribPorts(old.Ports, staying))
	status, err := r.plane.setPorts(ctx, portList(cfg.Ports))
	if err == nil {
		err = newError(before, status)
	}
	if err != nil {
		// Not wholly means not at all.
		back, uerr := r.plane.setPorts(ctx, portList(old.Ports))
		if uerr != nil {
			// It says nothing of the ports, which are as they were as far as we know; if it
			// goes on saying nothing, guard ends it.
			back = before
		} else {
			uerr = newError(before, back)
		}
		if uerr != nil {
			r.log.Error("ports: going back to the configuration before", "error", uerr)
		}
		status, cfg = back, old
	}
	r.takePorts(cfg.Ports, status)
	return err
}
