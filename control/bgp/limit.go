package bgp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// retry is the state of a neighbour that reached max_prefixes.
type retry struct {
	at   time.Time     // zero: not waiting
	last time.Time     // when the limit was reached last
	next time.Duration // wait after the next time
}

// cut closes the session of a neighbour that reached max_prefixes and sets the time
// of the next try.
func (w *steward) cut(a netip.Addr) error {
	ctx := context.Background()
	p, ok := w.enginePeer(a)
	if !ok {
		return nil
	}
	r := w.retries[a]
	if r == nil {
		r = &retry{}
		w.retries[a] = r
	}
	if time.Since(r.last) > retryMost {
		r.next = w.s.retryAfter
	}
	r.last = time.Now()
	r.at = time.Now().Add(r.next)
	r.next = min(2*r.next, retryMost)
	w.s.onLoop(func(l *loop) { l.retryAt(a, r.at) })
	w.schedule()
	err := w.ending(a, func() error { return w.engine.cut(ctx, p) })
	if err == nil {
		err = w.engine.bar(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("neighbor %s: cannot close its session: %w", a, err)
	}
	return nil
}

func (w *steward) enginePeer(a netip.Addr) (peer, bool) {
	if w.engine == nil {
		return peer{}, false
	}
	p, ok := w.engine.peers[a]
	return p, ok
}

func (w *steward) retry() error {
	var errs []error
	for a, r := range w.retries {
		if r.at.IsZero() || time.Until(r.at) > 0 {
			continue
		}
		r.at = time.Time{}
		p, ok := w.enginePeer(a)
		if !ok {
			delete(w.retries, a)
			continue
		}
		w.s.onLoop(func(l *loop) { l.retryAt(a, time.Time{}) })
		if err := w.engine.mend(context.Background(), p); err != nil {
			errs = append(errs, fmt.Errorf("neighbor %s: cannot bring its session up again: %w", a, err))
		}
	}
	w.schedule()
	return errors.Join(errs...)
}

// schedule sets the timer to the earliest retry.
func (w *steward) schedule() {
	var first time.Time
	for _, r := range w.retries {
		if !r.at.IsZero() && (first.IsZero() || r.at.Before(first)) {
			first = r.at
		}
	}
	if first.IsZero() {
		w.timer.Stop()
		return
	}
	w.timer.Reset(max(0, time.Until(first)))
}
