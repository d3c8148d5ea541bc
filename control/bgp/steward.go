package bgp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"routerd/config"
)

type job struct {
	plan *plan
	done chan error
}

// steward keeps GoBGP at the last configuration and list of own prefixes. It is a
// goroutine of its own because any call into GoBGP may take seconds.
type steward struct {
	s       *Speaker
	log     *slog.Logger
	engine  *engine
	current *plan
	retries map[netip.Addr]*retry
	timer   *time.Timer // for the earliest of retries

	restarting bool        // the first configuration continues what an earlier process did
	deferring  bool        // GoBGP may be waiting for End-of-RIB before it sends anything (RFC 4724, section 4.1)
	restarted  *time.Timer // no neighbour waits for us any longer
}

func (s *Speaker) steward() {
	w := &steward{s: s, log: s.log, retries: make(map[netip.Addr]*retry), timer: time.NewTimer(time.Hour),
		restarting: s.restarting, restarted: time.NewTimer(time.Hour)}
	w.timer.Stop()
	w.restarted.Stop()
	defer func() {
		if w.engine != nil {
			w.farewell(context.Background())
			w.engine.stop(context.Background())
		}
		taken.Store(false)
		close(s.stewardDone)
	}()
	for {
		select {
		case j := <-s.jobs:
			err := w.guard(func() error { return w.apply(j.plan) })
			if err != nil {
				err = fmt.Errorf("bgp: %w", err)
				w.log.Error("bgp: the configuration is applied in part", "err", err)
			}
			j.done <- err
		case <-s.announce:
			w.report(w.guard(w.originate))
		case <-s.limits.wake:
			for _, a := range s.limits.take() {
				w.report(w.guard(func() error { return w.cut(a) }))
			}
		case <-s.renewals.wake:
			for _, a := range s.renewals.take() {
				w.report(w.guard(func() error { return w.renew(a) }))
			}
		case <-s.resends.wake:
			for _, a := range s.resends.take() {
				w.report(w.guard(func() error { return w.resend(a) }))
			}
		case <-w.restarted.C:
			w.deferring = false
			for _, a := range w.neverUp() {
				w.report(w.guard(func() error { return w.renew(a) }))
			}
		case <-w.timer.C:
			w.report(w.guard(w.retry))
		case <-s.stop:
			return
		}
	}
}

func (w *steward) report(err error) {
	if err != nil {
		w.log.Error("bgp: " + err.Error())
	}
}

// guard turns a panic of GoBGP on our goroutine into an error.
func (w *steward) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panicked: %v", p)
		}
	}()
	return f()
}

func (w *steward) apply(p *plan) error {
	ctx := context.Background()
	before, restarting := w.current, w.restarting
	w.restarting = false
	if w.engine != nil && (p.config.BGP == nil || w.engine.base != p.base) {
		w.s.onLoop(func(l *loop) { l.install(&plan{}, "BGP is restarted with another AS, router id or port") })
		w.engine.stop(ctx)
		w.engine, before = nil, nil
		clear(w.retries)
	}
	if p.config.BGP == nil {
		w.current = p
		return nil
	}
	if w.engine == nil {
		e, err := startEngine(ctx, p.base, w.s.listen, p.policies, w.s.inbox, w.log)
		if err != nil {
			return err
		}
		w.engine = e
	}
	var errs []error
	for _, old := range w.engine.peersByAddress() {
		if p.peers[old.address] != old {
			errs = append(errs, w.drop(ctx, old))
		}
	}
	errs = append(errs, w.engine.setPolicies(ctx, p.policies))
	w.s.onLoop(func(l *loop) { l.install(p, "removed from the configuration") })
	w.warn(before, p)
	errs = append(errs, w.originate())
	for _, n := range neighborsOf(p.config) {
		if _, ok := w.engine.peers[n.Address]; !ok {
			errs = append(errs, w.engine.add(ctx, p.peers[n.Address], restarting))
			continue
		}
		if before != nil {
			errs = append(errs, w.update(ctx, before, p, n))
		}
	}
	if limit := p.config.BGP.GracefulRestart; restarting && limit > 0 {
		w.deferring = true
		w.restarted.Reset(limit)
	}
	w.current = p
	return errors.Join(errs...)
}

func (e *engine) peersByAddress() []peer {
	return slices.SortedFunc(maps.Values(e.peers), func(a, b peer) int { return a.address.Compare(b.address) })
}

// drop removes a neighbour from GoBGP. Its session is ended first: GoBGP may keep
// routes that come in while it deletes a neighbour whose session is up.
func (w *steward) drop(ctx context.Context, p peer) error {
	if err := w.ending(p.address, func() error { return w.engine.disable(ctx, p.address) }); err != nil {
		return fmt.Errorf("neighbor %s: cannot end its session: %w", p.address, err)
	}
	delete(w.retries, p.address)
	w.s.onLoop(func(l *loop) {
		l.retryAt(p.address, time.Time{})
		if s := l.sessions[p.address]; s != nil {
			l.sweep(s, "its configuration changed")
		}
	})
	return w.engine.remove(ctx, p)
}

// ending calls end, which ends the session of a, and waits until that has happened.
func (w *steward) ending(a netip.Addr, end func() error) error {
	gone := make(chan struct{})
	if !w.s.onLoop(func(l *loop) { l.whenGone(a, gone) }) {
		return ErrClosed
	}
	if err := end(); err != nil {
		return err
	}
	select {
	case <-gone:
	case <-time.After(endingTime):
	case <-w.s.stop:
		return ErrClosed
	}
	return nil
}

// endingTime bounds the wait for GoBGP to end a session.
const endingTime = 5 * time.Second

// renew makes GoBGP forget all of a neighbour and open its session anew.
func (w *steward) renew(a netip.Addr) error {
	p, ok := w.enginePeer(a)
	if r := w.retries[a]; !ok || r != nil && !r.at.IsZero() { // barred by max_prefixes: forgotten already
		return nil
	}
	ctx := context.Background()
	if err := w.ending(a, func() error { return w.engine.disable(ctx, a) }); err != nil {
		return fmt.Errorf("neighbor %s: cannot end its session: %w", a, err)
	}
	return w.engine.renew(ctx, p)
}

// resend sends a neighbour everything that its export policy passes.
func (w *steward) resend(a netip.Addr) error {
	if _, ok := w.enginePeer(a); !ok || w.deferring {
		return nil
	}
	return w.engine.refresh(context.Background(), a, false)
}

// neverUp are the neighbours that have had no session. Their first OPEN would still say
// that we are restarting, though nobody waits for us any more.
func (w *steward) neverUp() (list []netip.Addr) {
	w.s.onLoop(func(l *loop) { list = l.neverUp() })
	return list
}

// farewell tells the neighbours that we shut down: Cease 6/2 (RFC 4486), which no
// neighbour takes for a restart. It comes after the loop, so it reads the inbox itself.
func (w *steward) farewell(ctx context.Context) {
	<-w.s.loopDone
	up := make(map[netip.Addr]bool)
	for _, v := range w.s.Neighbors() {
		if v.State == "Established" && w.engine.disable(ctx, v.Address) == nil {
			up[v.Address] = true
		}
	}
	timeout := time.After(endingTime)
	for events := []event(nil); len(up) > 0; {
		select {
		case <-w.s.inbox.wake:
			events = w.s.inbox.take(events)
			for _, e := range events {
				if e.kind == sessionDown {
					delete(up, e.peer)
				}
			}
		case <-timeout:
			return
		}
	}
}

// update does for a neighbour that stays what can be done without a reset.
func (w *steward) update(ctx context.Context, before, after *plan, n config.Neighbor) error {
	old, ok := before.neighbor(n.Address)
	if !ok {
		return nil
	}
	if r := w.retries[n.Address]; r != nil && !r.at.IsZero() && old.MaxPrefixes != n.MaxPrefixes {
		r.at, r.next = time.Now(), w.s.retryAfter
		w.schedule()
	}
	var errs []error
	if !reflect.DeepEqual(before.importView(old), after.importView(n)) {
		errs = append(errs, w.engine.refresh(ctx, n.Address, true))
	}
	if !reflect.DeepEqual(before.exportView(old), after.exportView(n)) {
		errs = append(errs, w.engine.refresh(ctx, n.Address, false))
	}
	return errors.Join(errs...)
}

// warn says once that a neighbour exchanges nothing.
func (w *steward) warn(before, after *plan) {
	for _, n := range neighborsOf(after.config) {
		var old config.Neighbor
		known := false
		if before != nil {
			old, known = before.neighbor(n.Address)
		}
		if n.Import == "" && (!known || old.Import != "") {
			w.log.Warn(fmt.Sprintf("bgp: neighbor %s has no import policy: nothing it announces is accepted (RFC 8212); name one with import", n.Address))
		}
		if n.Export == "" && (!known || old.Export != "") {
			w.log.Warn(fmt.Sprintf("bgp: neighbor %s has no export policy: nothing is announced to it (RFC 8212); name one with export", n.Address))
		}
	}
}

func (w *steward) originate() error {
	if w.engine == nil {
		return nil
	}
	w.s.mu.Lock()
	want := w.s.originate
	w.s.mu.Unlock()
	if err := w.engine.setOriginated(want); err != nil {
		return err
	}
	w.s.onLoop(func(l *loop) { l.originated(want) })
	return nil
}
