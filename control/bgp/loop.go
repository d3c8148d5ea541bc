package bgp

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"
)

const (
	batchRoutes = 4096                  // changes to the sink in one call at most
	batchDelay  = 10 * time.Millisecond // and how long a change waits for others
)

// loop owns all sessions and is the only caller of the sink.
type loop struct {
	s        *Speaker
	log      *slog.Logger
	sessions map[netip.Addr]*session
	changed  map[*session]bool     // to be shown
	own      map[netip.Prefix]bool // originated by this router
	pending  []Change              // for the sink
	worst    time.Duration

	sweepTimer *time.Timer // for the first neighbour whose stale routes have waited long enough

	flush *time.Timer
	armed bool
}

func (l *loop) run() {
	defer close(l.s.loopDone)
	var events []event
	for {
		select {
		case <-l.s.inbox.wake:
			events = l.s.inbox.take(events)
			for i := range events {
				l.handle(&events[i])
			}
			clear(events)
		case f := <-l.s.calls:
			f(l)
		case <-l.flush.C:
			l.armed = false
			l.send()
		case <-l.sweepTimer.C:
			l.sweepDue()
		case <-l.s.stop:
			return
		}
		if len(l.pending) > 0 && !l.armed {
			l.flush.Reset(batchDelay)
			l.armed = true
		}
		l.show()
	}
}

func (l *loop) emit(c Change) {
	l.pending = append(l.pending, c)
	if len(l.pending) >= batchRoutes {
		l.send()
	}
}

func (l *loop) send() {
	if len(l.pending) > 0 {
		l.s.sink.Routes(l.pending)
		l.pending = make([]Change, 0, batchRoutes)
	}
}

func (l *loop) handle(e *event) {
	s := l.sessions[e.peer]
	if s == nil {
		return
	}
	l.changed[s] = true
	switch e.kind {
	case sessionUp:
		l.down(s, e.at, "replaced by a new connection")
		s.source, s.ending, s.opening, s.exceeded, s.notice = e.source, e.source, true, false, ""
		s.ups++
		if s.conf.Export != "" {
			peer := e.peer // the event is reused
			time.AfterFunc(l.s.resendAfter, func() { l.s.resends.put(peer) })
		}
		return
	case sessionState:
		l.state(s, e)
		return
	case sessionNote:
		if !s.up {
			s.view.LastError = e.text
			if s.conf.PasswordFile != "" && strings.HasSuffix(e.text, "i/o timeout") {
				s.view.LastError += "; a wrong or missing password at either end looks like this"
			}
		}
		if e.source == s.source {
			s.notice = e.text
		}
		return
	case sessionDown:
		if e.source == s.ending {
			defer s.gone()
		}
	}
	switch {
	case e.source != s.source: // of an earlier connection
	case s.opening && e.kind != sessionDown:
		s.held = append(s.held, *e) // until the neighbour's identifier is known
	case e.kind == sessionDown:
		l.lost(s, e)
	case e.kind == sessionMalformed:
		s.view.Malformed++
		level := slog.LevelDebug
		if s.view.Malformed == 1 { // a peer must not fill the log
			level = slog.LevelWarn
		}
		l.log.Log(context.Background(), level, "bgp: malformed UPDATE, its routes are taken as withdrawn (RFC 7606)", "neighbor", e.peer, "err", e.text)
	case e.kind == sessionUpdate && s.up:
		l.worst = max(l.worst, time.Since(e.at))
		l.update(s, &e.update)
	}
}

// state takes in GoBGP's own account of a session, which comes later than the tap's.
func (l *loop) state(s *session, e *event) {
	if e.state.established {
		if s.shown++; s.shown > s.ups {
			l.log.Error("bgp: GoBGP opened a session unseen by us: no route of it is used; this build of GoBGP is not the one control/bgp was written for", "neighbor", s.conf.Address)
			s.shown = s.ups
		}
	}
	switch {
	case e.state.established && s.opening:
		s.restart = e.state.restart
		if !l.welcome(s, e.at) {
			return
		}
		s.opening, s.up, s.peerID = false, true, e.state.id
		s.view.State, s.view.Since = "Established", e.at
		s.view.RouterID, s.view.Capabilities = e.state.id, e.state.capabilities
		s.view.LastError, s.view.Updates, s.view.Malformed, s.view.EndOfRIB = "", 0, 0, false
		s.view.RetryAt = time.Time{}
		l.log.Info("bgp: session up", "neighbor", s.conf.Address, "as", s.conf.AS, "router_id", e.state.id)
		l.send()
		l.s.sink.PeerUp(s.conf.Address, s.conf.AS, e.state.id)
		held := s.held
		s.held = nil
		for i := range held {
			l.handle(&held[i])
		}
	case !e.state.established && !s.up:
		s.view.State = e.state.name
	}
}

func (l *loop) update(s *session, u *update) {
	s.view.Updates++
	if u.endOfRIB {
		s.view.EndOfRIB = true
		l.sweep(s, "it has sent its End-of-RIB")
		l.send()
		l.s.sink.EndOfRIB(s.conf.Address)
		return
	}
	// A prefix in both lists counts as announced (RFC 4271, section 4.3).
	s.withdraw(u.withdraw, l.emit)
	if u.advert != nil {
		s.announce(u.advert, u.reach, l.emit)
	}
	if s.received() > s.limit() {
		l.exceed(s)
	}
}

// exceed ends a session that announced too much: for us at once, for the neighbour
// when GoBGP gets to it.
func (l *loop) exceed(s *session) {
	s.exceeded = true
	reason := fmt.Sprintf("max-prefix %d reached", s.limit())
	l.log.Warn("bgp: "+reason+": session closed", "neighbor", s.conf.Address)
	l.down(s, time.Now(), reason)
	l.s.limits.put(s.conf.Address)
}

// down ends a session and takes back all that came from the neighbour.
func (l *loop) down(s *session, at time.Time, reason string) {
	if l.end(s, at, reason) {
		s.view.Stale, s.view.StaleUntil = 0, time.Time{}
		l.s.sink.PeerDown(s.conf.Address, reason)
	}
}

// end forgets the neighbour's Adj-RIB-In and takes nothing more from its connection. It
// reports whether there was a session.
func (l *loop) end(s *session, at time.Time, reason string) bool {
	wasUp := s.up
	s.up, s.opening, s.held, s.source = false, false, nil, 0
	l.changed[s] = true
	if !wasUp {
		return false
	}
	s.clear()
	s.view.State, s.view.Since = "Idle", at
	s.view.Downs++
	s.view.LastDown, s.view.LastDownReason = at, reason
	l.log.Info("bgp: session down", "neighbor", s.conf.Address, "reason", reason)
	l.send()
	return true
}

// gone says that the engine has let go of the connection.
func (s *session) gone() {
	s.ending = 0
	for _, c := range s.waiters {
		close(c)
	}
	s.waiters = nil
}

// show publishes the sessions that changed.
func (l *loop) show() {
	if len(l.changed) == 0 {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	for s := range l.changed {
		if l.sessions[s.conf.Address] == s {
			l.s.views[s.conf.Address] = s.snapshot()
		}
	}
	l.s.worstLag = l.worst
	clear(l.changed)
}
