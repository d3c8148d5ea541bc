package bgp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/api"

	"routerd/config"
)

// plan is a configuration made ready: everything that could be wrong in it has been
// looked at.
type plan struct {
	config   *config.Config
	base     base
	self     identity
	peers    map[netip.Addr]peer
	imports  map[netip.Addr]*rules // nil where there is no policy
	exports  map[netip.Addr]*rules
	policies *api.SetPoliciesRequest
}

type job struct {
	plan *plan
	done chan error
}

func prepare(c *config.Config) (*plan, error) {
	p := &plan{config: c, peers: make(map[netip.Addr]peer), imports: make(map[netip.Addr]*rules), exports: make(map[netip.Addr]*rules)}
	if c.BGP == nil {
		return p, nil
	}
	port := c.BGP.ListenPort
	if port == 0 {
		port = defaultPort
	}
	p.base = base{as: c.Router.AS, id: c.Router.ID, port: port}
	p.self = identity{as: c.Router.AS, id: c.Router.ID, addresses: make(map[netip.Addr]bool)}
	for _, port := range c.Ports {
		for _, a := range port.Addresses {
			p.self.addresses[a.Addr()] = true
		}
	}
	var errs []error
	policies := make(map[string]*rules)
	for _, policy := range c.Policies {
		r, err := compile(policy)
		if err != nil {
			errs = append(errs, err)
		}
		policies[policy.Name] = r
	}
	for _, n := range c.BGP.Neighbors {
		password, err := readPassword(n.PasswordFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("neighbor %s: %w", n.Address, err))
		}
		for _, name := range []string{n.Import, n.Export} {
			if _, ok := policies[name]; name != "" && !ok {
				errs = append(errs, fmt.Errorf("neighbor %s: policy %q is not defined", n.Address, name))
			}
		}
		p.imports[n.Address], p.exports[n.Address] = policies[n.Import], policies[n.Export]
		p.peers[n.Address] = peer{address: n.Address, as: n.AS, port: n.Port, passive: n.Passive,
			holdTime: n.HoldTime, password: password, ttlSecurity: n.TTLSecurity, multihop: n.Multihop}
	}
	own := slices.SortedFunc(maps.Keys(p.self.addresses), netip.Addr.Compare)
	p.policies = enginePolicies(c, own)
	return p, errors.Join(errs...)
}

// readPassword reads a TCP-MD5 key (RFC 2385). White space around it is no part of it.
func readPassword(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	password := strings.TrimSpace(string(raw))
	if password == "" {
		return "", fmt.Errorf("password_file %s is empty", file)
	}
	if len(password) > 80 {
		return "", fmt.Errorf("password_file %s holds %d bytes; TCP-MD5 takes 80 at most", file, len(password))
	}
	return password, nil
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
}

type retry struct {
	at   time.Time     // zero: not waiting
	last time.Time     // when the limit was reached last
	next time.Duration // wait after the next time
}

func (s *Speaker) steward() {
	w := &steward{s: s, log: s.log, retries: make(map[netip.Addr]*retry), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	defer func() {
		if w.engine != nil {
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
	before := w.current
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
	for _, n := range neighborsOf(p.config) {
		if _, ok := w.engine.peers[n.Address]; !ok {
			errs = append(errs, w.engine.add(ctx, p.peers[n.Address]))
			continue
		}
		if before != nil {
			errs = append(errs, w.update(ctx, before, p, n))
		}
	}
	w.current = p
	return errors.Join(append(errs, w.originate())...)
}

func (e *engine) peersByAddress() []peer {
	return slices.SortedFunc(maps.Values(e.peers), func(a, b peer) int { return a.address.Compare(b.address) })
}

// drop removes a neighbour from GoBGP. Its session is ended first: GoBGP may keep
// routes that come in while it deletes a neighbour whose session is up.
func (w *steward) drop(ctx context.Context, p peer) error {
	down := make(chan struct{})
	if !w.s.onLoop(func(l *loop) { l.whenDown(p.address, down) }) {
		return ErrClosed
	}
	if err := w.engine.disable(ctx, p.address); err != nil {
		return fmt.Errorf("neighbor %s: cannot end its session: %w", p.address, err)
	}
	select {
	case <-down:
	case <-time.After(5 * time.Second):
	case <-w.s.stop:
		return ErrClosed
	}
	delete(w.retries, p.address)
	w.s.onLoop(func(l *loop) { l.retryAt(p.address, time.Time{}) })
	return w.engine.remove(ctx, p)
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

func (p *plan) neighbor(a netip.Addr) (config.Neighbor, bool) {
	for _, n := range neighborsOf(p.config) {
		if n.Address == a {
			return n, true
		}
	}
	return config.Neighbor{}, false
}

func (p *plan) policy(name string) config.Policy {
	for _, policy := range p.config.Policies {
		if policy.Name == name {
			return policy
		}
	}
	return config.Policy{}
}

// importView is all that decides what GoBGP keeps of n's routes to pass on.
func (p *plan) importView(n config.Neighbor) any {
	list, all := exportable(p.config)
	return []any{p.policy(n.Import), list, all, p.self.addresses}
}

// exportView is all that decides what n is sent.
func (p *plan) exportView(n config.Neighbor) any {
	return []any{p.policy(n.Export), n.Prepend}
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

// limitList carries neighbours that reached max_prefixes from the loop.
type limitList struct {
	mu   sync.Mutex
	list []netip.Addr
	wake chan struct{}
}

func newLimitList() *limitList { return &limitList{wake: make(chan struct{}, 1)} }

func (l *limitList) put(a netip.Addr) {
	l.mu.Lock()
	l.list = append(l.list, a)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *limitList) take() []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// cut closes the session of a neighbour that reached max_prefixes and sets the time
// of the next try.
func (w *steward) cut(a netip.Addr) error {
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
	if err := w.engine.cut(context.Background(), p); err != nil {
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
