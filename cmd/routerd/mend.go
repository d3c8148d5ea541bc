package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"routerd/dataplane/attach"
)

const (
	// mendEvery is how often ports that are not open are tried again.
	mendEvery = 3 * time.Second
	// guardEvery and guardMisses say when a forwarding process counts as hung. Several
	// misses, since it may be we who were stopped for a while.
	guardEvery  = 10 * time.Second
	guardMisses = 3
)

// mend tries again to open ports that could not be opened, or whose interface was gone.
func (r *router) mend(ctx context.Context) {
	broken := slices.ContainsFunc(r.lastPorts(), func(p attach.PortStatus) bool { return p.Error != "" })
	if r.plane == nil || !broken || time.Since(r.mended) < mendEvery {
		return
	}
	r.mended = time.Now()
	if err := r.assertPorts(ctx); err != nil {
		r.log.Error("ports", "error", err)
	}
}

// assertPorts makes the ports once more what the running configuration says: somebody may
// have changed an interface.
func (r *router) assertPorts(ctx context.Context) error {
	status, err := r.plane.setPorts(ctx, portList(r.cfg.Ports))
	if err != nil {
		return err
	}
	r.takePorts(r.cfg.Ports, status)
	return nil
}

// lastPorts are the ports as the forwarding process reported them last.
func (r *router) lastPorts() []attach.PortStatus {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.ports)
}

// newError is the error of the first port that has one and had none of that device before.
func newError(before, now attach.PortStatusList) error {
	for _, p := range now.Ports {
		had := slices.ContainsFunc(before.Ports, func(b attach.PortStatus) bool {
			return b.Name == p.Name && b.Device == p.Device && b.Error != ""
		})
		if p.Error != "" && !had {
			return fmt.Errorf("port %q: %s", p.Name, p.Error)
		}
	}
	return nil
}

// guard kills a forwarding process that no longer answers: nothing can be changed in it,
// and where it ends another is started. It returns when the process is gone.
func (p *plane) guard(log *slog.Logger) {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for misses := 0; misses < guardMisses; {
		select {
		case <-p.client.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), guardEvery)
		_, err := p.client.Ports(ctx)
		cancel()
		if misses++; err == nil {
			misses = 0
		}
	}
	log.Error("forwarding process does not answer; killing it", "pid", p.client.Welcome().PID)
	p.kill()
}
