package bgp

import (
	"net/netip"
	"sync"
	"time"
)

type eventKind uint8

const (
	sessionUp eventKind = iota
	sessionDown
	sessionUpdate
	sessionMalformed // an UPDATE was malformed and will be treated as a withdraw
	sessionNote      // something an operator wants to see beside the neighbour
	sessionState     // state, BGP identifier and capabilities, from GoBGP's peer events
)

// event is one thing that happened to the session of one neighbour.
type event struct {
	kind     eventKind
	peer     netip.Addr
	source   uint64 // 0 for sessionState, which does not know
	at       time.Time
	text     string
	graceful bool // sessionDown: GoBGP takes it for a restart of the neighbour
	update   update
	state    *stateEvent
}

type stateEvent struct {
	name         string
	established  bool
	id           netip.Addr
	capabilities []string
	restart      restart
}

// inbox takes events from GoBGP's goroutines to the loop. put never blocks, so the
// inbox is unbounded: what bounds it is that the loop is several times faster than
// GoBGP's receive path. Lag shows when it is not.
type inbox struct {
	mu     sync.Mutex
	events []event
	wake   chan struct{} // holds one token while events is not empty
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (b *inbox) put(e event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	first := len(b.events) == 1
	b.mu.Unlock()
	if first {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// take swaps the waiting events for the emptied slice of an earlier take.
func (b *inbox) take(empty []event) []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.events
	b.events = empty[:0]
	return full
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events)
}
