package bgp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// staleLimit bounds how long the routes of a neighbour that is back from a restart wait
// for its End-of-RIB (RFC 4724, section 4.2, leaves the bound to us).
const staleLimit = 6 * time.Minute

// restart is what a neighbour's OPEN says of graceful restart for IPv4 unicast
// (RFC 4724, section 3).
type restart struct {
	negotiated bool          // it keeps forwarding when its BGP restarts
	time       time.Duration // how long that may take
	forwarding bool          // it has kept its forwarding state over the restart behind it
}

// restartOf reads the last capability of its kind, as GoBGP does.
func restartOf(capabilities []bgp.ParameterCapabilityInterface) restart {
	var r restart
	for _, c := range capabilities {
		g, ok := c.(*bgp.CapGracefulRestart)
		if !ok {
			continue
		}
		r = restart{time: time.Duration(g.Time) * time.Second}
		for _, t := range g.Tuples {
			if t.AFI == bgp.AFI_IP && t.SAFI == bgp.SAFI_UNICAST {
				r.negotiated, r.forwarding = true, t.Flags&0x80 != 0
			}
		}
	}
	return r
}

// lost is the end of a connection as GoBGP reports it. Only one that broke without a
// NOTIFICATION is a restart (RFC 4724, section 4.2). GoBGP takes the expiry of the hold
// timer for one, too; to us a neighbour that is silent is dead, and traffic leaves it.
func (l *loop) lost(s *session, e *event) {
	switch {
	case !s.up || !e.graceful:
		l.down(s, e.at, e.text)
	case s.notice != "":
		l.down(s, e.at, s.notice)
		l.s.renewals.put(s.conf.Address)
	case !s.restart.negotiated || s.restart.time == 0:
		l.down(s, e.at, e.text)
	default:
		l.restarts(s, e.at, e.text)
	}
}

// restarts ends a session whose routes stay in use.
func (l *loop) restarts(s *session, at time.Time, reason string) {
	kept := s.counts[accepted]
	l.end(s, at, fmt.Sprintf("%s; it restarts: %d routes are kept for %v at most", reason, kept, s.restart.time))
	s.view.Stale, s.view.StaleUntil = kept, at.Add(s.restart.time)
	l.s.sink.PeerRestarts(s.conf.Address)
	l.scheduleSweep()
}

// welcome looks at a neighbour that may be back from a restart, and reports whether its
// session can be used. Where it came back without graceful restart GoBGP would wait for
// an End-of-RIB that may never come, and go on passing the stale routes on.
func (l *loop) welcome(s *session, at time.Time) bool {
	switch {
	case s.view.StaleUntil.IsZero():
	case !s.restart.negotiated:
		l.sweep(s, "it came back without graceful restart")
		l.end(s, at, "")
		s.view.LastError = "came back without graceful restart; the session is opened anew"
		l.s.renewals.put(s.conf.Address)
		return false
	case !s.restart.forwarding:
		l.sweep(s, "it came back without its forwarding state")
	default:
		s.view.StaleUntil = at.Add(staleLimit)
		l.scheduleSweep()
	}
	return true
}

// sweep takes back the routes from before a restart that were not announced since.
func (l *loop) sweep(s *session, why string) {
	if s.view.StaleUntil.IsZero() {
		return
	}
	l.log.Info("bgp: routes from before the neighbour's restart are swept", "neighbor", s.conf.Address, "because", why)
	s.view.Stale, s.view.StaleUntil = 0, time.Time{}
	l.changed[s] = true
	l.send()
	l.s.sink.SweepPeer(s.conf.Address)
}

// sweepDue sweeps the sessions whose time is over.
func (l *loop) sweepDue() {
	for _, s := range l.sessions {
		if !s.view.StaleUntil.IsZero() && time.Until(s.view.StaleUntil) <= 0 {
			l.sweep(s, "its time is over")
		}
	}
	l.scheduleSweep()
}

// scheduleSweep sets the timer to the first end of a time to wait.
func (l *loop) scheduleSweep() {
	var first time.Time
	for _, s := range l.sessions {
		if t := s.view.StaleUntil; !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if first.IsZero() {
		l.sweepTimer.Stop()
		return
	}
	l.sweepTimer.Reset(max(0, time.Until(first)))
}

// neverUp returns the neighbours that have had no session yet.
func (l *loop) neverUp() (list []netip.Addr) {
	for a, s := range l.sessions {
		if s.ups == 0 {
			list = append(list, a)
		}
	}
	return list
}
