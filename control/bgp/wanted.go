package bgp

import (
	"net/netip"
	"sync"
)

// wanted carries neighbours that need the steward from the loop to it. put never blocks.
type wanted struct {
	mu   sync.Mutex
	list []netip.Addr
	wake chan struct{}
}

func newWanted() *wanted { return &wanted{wake: make(chan struct{}, 1)} }

func (l *wanted) put(a netip.Addr) {
	l.mu.Lock()
	l.list = append(l.list, a)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *wanted) take() []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}
