package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"routerd/config"
	"routerd/control/api"
	"routerd/control/bgp"
	"routerd/control/rib"
	"routerd/dataplane/attach"
)

const (
	auditEvery = time.Second
	// auditPrefixes and auditSlots are how much of RIB and FIB one audit compares: a
	// full table takes two minutes, all 16.7 million /24 slots the same.
	auditPrefixes = 8192
	auditSlots    = 1 << 17
	// retryMax bounds the pause between attempts to start the forwarding process. One that
	// lived for stableAfter starts again at once.
	retryMax    = 30 * time.Second
	stableAfter = 10 * time.Second
	// sweepDefault is how long a restarted control process waits for End-of-RIB where
	// graceful restart is off.
	sweepDefault = 120 * time.Second
)

// router is the control process's state. One goroutine, run, changes it: requests and
// events come to it as tasks. What shows read is under mu.
type router struct {
	controlOptions
	log     *slog.Logger
	started time.Time
	rib     *rib.RIB
	bgp     *bgp.Speaker
	api     *api.Server
	tasks   chan func()
	done    chan struct{} // closed when run has ended: nobody takes tasks any more
	up      atomic.Bool   // start has ended

	sweep  *time.Timer // runs out when stale routes have waited long enough
	retry  *time.Timer // runs out when the forwarding process is to be started again
	pause  time.Duration
	mended time.Time // when mend last tried

	mu        sync.RWMutex
	cfg       *config.Config
	revision  int
	applied   time.Time
	appliedBy string
	plane     *plane // nil: no forwarding process
	restarts  int
	ports     []attach.PortStatus
	links     map[string]*linkHistory // by port
	unswept   *sweepList              // nil: nothing to sweep
	audited   api.Audit
	drops     dropTimes
}

// linkHistory is what a port's link has done.
type linkHistory struct {
	up      bool
	since   time.Time
	changes uint64
}

func newRouter(o controlOptions, log *slog.Logger) *router {
	r := &router{
		controlOptions: o,
		log:            log,
		started:        time.Now(),
		tasks:          make(chan func(), 64),
		done:           make(chan struct{}),
		sweep:          stoppedTimer(),
		retry:          stoppedTimer(),
		links:          map[string]*linkHistory{},
	}
	r.rib = rib.New(rib.Options{Log: log, OnLocalRoutes: r.localRoutes})
	return r
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// start brings the router up on cfg, or leaves everything as it was.
func (r *router) start(ctx context.Context, cfg *config.Config) error {
	p, err := startPlane(ctx, r.runDir, setupOf(cfg), r.portEvent, r.log)
	if err != nil {
		return err
	}
	abandon := func() {
		if p.resumed {
			p.close()
		} else {
			p.stop(r.log)
		}
	}
	status, err := p.openPorts(ctx, cfg.Ports)
	if err != nil && p.resumed {
		// It forwards, and goes on forwarding with the ports that it has.
		r.log.Error("ports", "error", err)
		err = nil
	}
	if err != nil {
		abandon()
		return err
	}
	if d := p.difference(cfg); d != "" {
		r.log.Warn(d)
	}
	if r.bgp, err = bgp.New(bgp.Options{Log: r.log, Sink: bgpSink{r}, Restarting: p.resumed}); err != nil {
		abandon()
		return err
	}
	r.api = api.NewServer(api.Options{Backend: r, Log: r.log})
	if err := r.api.Listen(ctx, cfg.Control); err != nil {
		abandon()
		return err
	}
	r.adopt(cfg, "start")
	r.setPlane(p)
	r.rib.SetMultipath(multipath(cfg))
	r.rib.SetStatics(statics(cfg.Routes))
	r.takePorts(cfg.Ports, status)
	stale := r.rib.Attach(p.fib)
	r.expectRoutes(cfg, p.resumed, stale)
	if err := r.bgp.Apply(ctx, cfg); err != nil {
		_ = r.api.Close(ctx)
		_ = r.bgp.Close(ctx)
		abandon()
		return err
	}
	r.up.Store(true)
	return nil
}

// adopt makes cfg the running configuration.
func (r *router) adopt(cfg *config.Config, by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg, r.applied, r.appliedBy = cfg, time.Now(), by
	r.revision++
}

// setPlane makes p the forwarding process.
func (r *router) setPlane(p *plane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plane = p
	go p.guard(r.log)
}

// run handles everything that happens until ctx ends.
func (r *router) run(ctx context.Context, hup <-chan os.Signal) {
	audit := time.NewTicker(auditEvery)
	defer audit.Stop()
	defer close(r.done)
	for {
		var planeGone <-chan struct{}
		if r.plane != nil {
			planeGone = r.plane.client.Done()
		}
		select {
		case <-ctx.Done():
			return
		case task := <-r.tasks:
			task()
		case <-hup:
			r.reload(ctx)
		case <-planeGone:
			w := r.plane.client.Welcome()
			r.dropPlane()
			if time.Since(w.Started) > stableAfter {
				r.pause = 0
			}
			r.log.Error("forwarding process died; starting another", "pid", w.PID, "in", r.pause)
			r.retry.Reset(r.pause)
			r.backOff()
		case <-r.retry.C:
			r.revive(ctx)
		case <-r.sweep.C:
			r.log.Warn("not every neighbor has sent its End-of-RIB in time; sweeping", "waited_for", r.unswept.waiting())
			r.sweepNow()
		case <-audit.C:
			r.audit()
			r.mend(ctx)
			r.drops.sample(r.reasonTotals(), time.Now())
		}
	}
}

// do hands task to run and waits until it has been done. It reports false when the
// router is stopping.
func (r *router) do(task func()) bool {
	finished := make(chan struct{})
	select {
	case r.tasks <- func() { defer close(finished); task() }:
	case <-r.done:
		return false
	}
	select {
	case <-finished:
		return true
	case <-r.done:
		return false
	}
}

// reload is SIGHUP: it applies the file again.
func (r *router) reload(ctx context.Context) {
	notify("RELOADING=1")
	defer notify("READY=1")
	cfg, _, err := config.Load(r.configPath)
	if invalid, ok := errors.AsType[config.Errors](err); ok {
		for _, e := range invalid {
			r.log.Error("reload: configuration", "file", r.configPath, "line", e.Line, "column", e.Column, "error", e.Message)
		}
		err = errors.New(invalid.Count())
	}
	if err != nil {
		r.log.Error("reload: the running configuration is unchanged", "file", r.configPath, "error", err)
		return
	}
	changes, _, err := r.apply(ctx, cfg, "SIGHUP")
	if err != nil {
		r.log.Error("reload: the running configuration is unchanged", "file", r.configPath, "error", err)
		return
	}
	r.log.Info("reloaded", "file", r.configPath, "changes", changes)
}

// dropPlane lets go of a forwarding process that has died.
func (r *router) dropPlane() {
	r.rib.Detach()
	r.mu.Lock()
	p := r.plane
	r.plane = nil
	r.restarts++
	for i := range r.ports {
		r.ports[i].Up = false
	}
	r.mu.Unlock()
	p.close()
}

// backOff makes the next pause before a start of the forwarding process longer.
func (r *router) backOff() { r.pause = min(max(2*r.pause, time.Second), retryMax) }

// revive starts a forwarding process in place of one that died and fills it.
func (r *router) revive(ctx context.Context) {
	p, err := startPlane(ctx, r.runDir, setupOf(r.cfg), r.portEvent, r.log)
	if err != nil {
		r.log.Error("forwarding process does not start", "error", err, "retry_in", r.pause)
		r.retry.Reset(r.pause)
		r.backOff()
		return
	}
	r.setPlane(p)
	status, err := p.openPorts(ctx, r.cfg.Ports)
	if err != nil {
		r.log.Error("ports", "error", err)
	}
	r.takePorts(r.cfg.Ports, status)
	r.rib.Attach(p.fib)
	if r.unswept == nil {
		r.rib.Sweep()
	}
	r.log.Info("forwarding process filled", "pid", p.client.Welcome().PID, "routes", r.rib.Status().InFIB)
}

// portEvent hears from the forwarding process that ports have changed. What it says may be
// older than an answer that came meanwhile, so the state is asked for.
func (r *router) portEvent(attach.PortStatusList) {
	r.do(func() {
		if r.plane == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		l, err := r.plane.client.Ports(ctx)
		if err != nil {
			r.log.Error("ports", "error", err)
			return
		}
		r.takePorts(r.cfg.Ports, l)
	})
}

// takePorts takes in what the forwarding process says of its ports: for shows, and for the
// connected routes of those that are configured.
func (r *router) takePorts(configured []config.Port, status attach.PortStatusList) {
	r.remember(status.Ports)
	r.rib.SetPorts(ribPorts(configured, status.Ports))
}

// remember keeps the state of the ports and the history of their links.
func (r *router) remember(ports []attach.PortStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports = slices.Clone(ports) // refresh changes them
	for _, p := range ports {
		h := r.links[p.Name]
		if h == nil {
			r.links[p.Name] = &linkHistory{up: p.Up, since: time.Now()}
			continue
		}
		if h.up != p.Up {
			h.up, h.since = p.Up, time.Now()
			h.changes++
			r.log.Info("link", "port", p.Name, "up", p.Up)
		}
	}
}

// audit compares a part of RIB and FIB, and repairs what differs.
func (r *router) audit() {
	var slots, repaired int
	var err error
	routes := r.rib.Audit(auditPrefixes)
	if !r.withFIB(func(p *plane) { slots, repaired, err = p.fib.Audit(auditSlots) }) {
		return
	}
	if err != nil {
		r.log.Error("FIB audit", "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.audited.Checked += uint64(routes.Checked + slots)
	if n := routes.Repaired + repaired; n > 0 {
		r.audited.Divergences += uint64(n)
		r.audited.LastFound = time.Now()
		r.log.Error("RIB and FIB differed; repaired", "entries", n)
	}
	if routes.Wrapped {
		r.audited.Last = time.Now()
	}
}

// stop ends BGP and the forwarding process and closes the control sockets.
func (r *router) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if err := r.api.Close(ctx); err != nil {
		r.log.Warn("control sockets", "error", err)
	}
	if err := r.bgp.Close(ctx); err != nil {
		r.log.Warn("BGP", "error", err)
	}
	r.rib.Detach()
	if r.plane != nil {
		r.plane.stop(r.log)
	}
}
