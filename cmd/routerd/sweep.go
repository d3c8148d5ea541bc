package main

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"

	"routerd/config"
)

// sweepList is the neighbours whose End-of-RIB a restarted control process waits for
// before it sweeps what was not relearned.
type sweepList struct {
	mu    sync.Mutex
	peers map[netip.Addr]bool
}

func (l *sweepList) waiting() []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	var peers []netip.Addr
	for p := range l.peers {
		peers = append(peers, p)
	}
	slices.SortFunc(peers, netip.Addr.Compare)
	return peers
}

// done takes p off the list and reports whether that emptied it.
func (l *sweepList) done(p netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := l.peers[p]
	delete(l.peers, p)
	return had && len(l.peers) == 0
}

// expectRoutes decides when stale routes are swept: at once after a fresh start, and
// after a resumption when every neighbour has sent its End-of-RIB, or a time has passed.
func (r *router) expectRoutes(cfg *config.Config, resumed bool, stale int) {
	peers := accepting(cfg)
	if !resumed || len(peers) == 0 {
		r.rib.Sweep()
		return
	}
	l := &sweepList{peers: map[netip.Addr]bool{}}
	for _, p := range peers {
		l.peers[p] = true
	}
	wait := cmp.Or(cfg.BGP.GracefulRestart, sweepDefault)
	r.log.Info("attached to the running forwarding process; its routes stay until they are relearned",
		"pid", r.plane.client.Welcome().PID, "routes", stale, "at_most", wait, "waiting_for", l.waiting())
	r.mu.Lock()
	r.unswept = l
	r.mu.Unlock()
	r.sweep.Reset(wait)
}

// stopExpecting forgets neighbours that are no longer configured.
func (r *router) stopExpecting(cfg *config.Config) {
	if r.unswept == nil {
		return
	}
	peers := accepting(cfg)
	for _, p := range r.unswept.waiting() {
		if !slices.Contains(peers, p) && r.unswept.done(p) {
			r.sweepNow()
			return
		}
	}
}

// sweepNow removes what was not relearned.
func (r *router) sweepNow() {
	if r.unswept == nil {
		return
	}
	r.sweep.Stop()
	r.mu.Lock()
	r.unswept = nil
	r.mu.Unlock()
	n := r.rib.Sweep()
	r.log.Info("stale routes swept", "routes", n)
}
