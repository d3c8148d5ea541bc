package bgp

import (
	"net/netip"
	"reflect"
	"time"
)

// install gives the loop the neighbours of p. A session whose opening parameters
// changed has been taken down before by the steward.
func (l *loop) install(p *plan, gone string) {
	for a, s := range l.sessions {
		if _, ok := p.peers[a]; ok {
			continue
		}
		l.down(s, time.Now(), gone)
		l.sweep(s, gone)
		s.gone()
		delete(l.sessions, a)
		delete(l.changed, s)
		l.s.mu.Lock()
		delete(l.s.views, a)
		l.s.mu.Unlock()
	}
	if p.config == nil {
		return
	}
	for _, n := range neighborsOf(p.config) {
		s := l.sessions[n.Address]
		if s == nil {
			s = newSession(n, p.self, p.imports[n.Address])
			l.sessions[n.Address] = s
		} else {
			if !s.view.StaleUntil.IsZero() && !reflect.DeepEqual(s.in, p.imports[n.Address]) {
				l.sweep(s, "its import policy changed") // it cannot be asked of what is stale
				if !s.up {
					l.s.renewals.put(n.Address) // GoBGP does not ask it of what is stale either
				}
			}
			s.conf, s.self, s.in = n, p.self, p.imports[n.Address]
			s.describe()
			s.reconsider(l.emit)
			if s.up && s.received() > s.limit() {
				l.exceed(s)
			}
		}
		l.changed[s] = true
		s.out = p.exports[n.Address]
		s.countOriginated(l.own)
	}
}

// originated counts anew what each neighbour hears of our prefixes.
func (l *loop) originated(own map[netip.Prefix]bool) {
	l.own = own
	for _, s := range l.sessions {
		s.countOriginated(own)
		l.changed[s] = true
	}
}

func (s *session) countOriginated(own map[netip.Prefix]bool) {
	s.view.Originated = 0
	if s.out == nil {
		return
	}
	for p := range own {
		if _, ok := s.out.match(pack(p), nil); ok {
			s.view.Originated++
		}
	}
}

// whenGone closes c as soon as the engine has no connection of a any more.
func (l *loop) whenGone(a netip.Addr, c chan struct{}) {
	if s := l.sessions[a]; s != nil && s.ending != 0 {
		s.waiters = append(s.waiters, c)
		return
	}
	close(c)
}

func (l *loop) retryAt(a netip.Addr, at time.Time) {
	if s := l.sessions[a]; s != nil {
		s.view.RetryAt = at
		l.changed[s] = true
	}
}
