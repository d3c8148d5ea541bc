package bgp

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Neighbor is the state of one neighbour as Neighbors shows it.
type Neighbor struct {
	Address      netip.Addr
	Description  string
	AS           uint32
	Internal     bool
	Import       string // policy names; empty where there is none
	Export       string
	State        string    // RFC 4271: Idle, Connect, Active, OpenSent, OpenConfirm, Established
	Since        time.Time // of State Established or of leaving it
	RouterID     netip.Addr
	Capabilities []string // that the neighbour announced
	HoldTime     time.Duration
	MaxPrefixes  int

	Received   int       // prefixes in the Adj-RIB-In
	Accepted   int       // of these, accepted by the import policy
	Refused    []Refusal // of these, the rest by reason, in a fixed order
	Originated int       // prefixes of this router that the export policy lets through to it
	Updates    uint64    // UPDATE messages received in this session
	Malformed  uint64    // of these, treated as withdraws (RFC 7606)
	EndOfRIB   bool      // the neighbour has sent its whole table once

	Stale      int       // accepted routes kept when the neighbour began to restart (RFC 4724)
	StaleUntil time.Time // when what is left of them is swept at the latest; zero: none is kept

	Downs          uint64
	LastDown       time.Time // zero: has not been down since it was configured
	LastDownReason string
	LastError      string    // why there is no session yet; empty while Established
	RetryAt        time.Time // when a session closed by max_prefixes is tried again
}

// Note is what an operator has to know of the neighbour, in one line; empty where
// there is nothing.
func (n Neighbor) Note() string {
	switch {
	case !n.RetryAt.IsZero():
		return fmt.Sprintf("%s, retry in %s", n.LastDownReason, left(n.RetryAt))
	case n.State != "Established" && !n.StaleUntil.IsZero():
		return fmt.Sprintf("restarting: %d routes kept for %s more", n.Stale, left(n.StaleUntil))
	case n.State != "Established":
		return n.LastError
	case !n.StaleUntil.IsZero():
		return fmt.Sprintf("back from a restart: what is left of %d routes is kept until its End-of-RIB, %s at most", n.Stale, left(n.StaleUntil))
	case n.Import == "" && n.Export == "":
		return fmt.Sprintf("no policies: %d routes refused, none announced (RFC 8212)", n.Received)
	case n.Import == "":
		return fmt.Sprintf("no import policy: %d routes refused (RFC 8212)", n.Received)
	case n.Export == "":
		return "no export policy: nothing is announced (RFC 8212)"
	}
	return ""
}

func left(t time.Time) time.Duration { return max(0, time.Until(t).Round(time.Second)) }

// Refusal counts the received routes that are not used for one reason.
type Refusal struct {
	Reason string
	Routes int
}

// Neighbors returns all configured neighbours by address. It reads our own state
// and answers at once whatever GoBGP is doing.
func (s *Speaker) Neighbors() []Neighbor {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Neighbor, 0, len(s.views))
	for _, v := range s.views {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Neighbor) int { return a.Address.Compare(b.Address) })
	return out
}

// Neighbor returns the neighbour with that address.
func (s *Speaker) Neighbor(a netip.Addr) (Neighbor, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[a]
	return v, ok
}

// Lag is how far the loop is behind GoBGP.
type Lag struct {
	Waiting int           // events not yet looked at
	Worst   time.Duration // longest wait of an UPDATE since the speaker was made
}

// Lag returns how far the loop is behind.
func (s *Speaker) Lag() Lag {
	waiting := s.inbox.len()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Lag{Waiting: waiting, Worst: s.worstLag}
}
