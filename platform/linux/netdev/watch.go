//go:build linux

package netdev

import (
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Watch calls f with the state of the interface, at once and whenever the kernel tells of
// it, until Unwatch; the later calls come from the namespace's goroutine. After a state
// with Gone nothing follows.
func (n *Namespace) Watch(index int, f func(State)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, err := n.byIndex(index)
	if err != nil {
		return err
	}
	n.watchers[index] = f
	f(s)
	return nil
}

// Unwatch ends Watch. When it returns, the function is not running and will not be
// called again. The function itself must not call it.
func (n *Namespace) Unwatch(index int) {
	n.mu.Lock()
	delete(n.watchers, index)
	n.mu.Unlock()
}

func (n *Namespace) subscribe() (<-chan netlink.LinkUpdate, error) {
	updates := make(chan netlink.LinkUpdate, 64)
	err := netlink.LinkSubscribeWithOptions(updates, n.done, netlink.LinkSubscribeOptions{
		Namespace:              &n.here,
		ReceiveBufferSize:      1 << 20,
		ReceiveBufferForceSize: true,
		ErrorCallback:          func(err error) { n.log.Debug("link events", "error", err) },
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to link events: %w", err)
	}
	return updates, nil
}

// watch tells the watchers what the kernel tells. A subscription ends when the kernel
// had to drop messages; then a new one starts and every watched interface is read.
func (n *Namespace) watch(updates <-chan netlink.LinkUpdate) {
	for {
		for u := range updates {
			n.dispatch(u)
		}
		for {
			select {
			case <-n.done:
				return
			default:
			}
			var err error
			if updates, err = n.subscribe(); err == nil {
				break
			}
			n.log.Warn("link events are not being received; trying again", "error", err)
			select {
			case <-n.done:
				return
			case <-time.After(time.Second):
			}
		}
		n.refresh()
	}
}

func (n *Namespace) dispatch(u netlink.LinkUpdate) {
	if u.IfInfomsg.Family == unix.AF_BRIDGE {
		return // a bridge port that leaves its bridge is "deleted" there, not here
	}
	s := stateOf(u.Link.Attrs())
	s.Gone = u.Header.Type == unix.RTM_DELLINK
	n.tell(s)
}

func (n *Namespace) tell(s State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.watchers[s.Index]
	if f == nil {
		return
	}
	if s.Gone {
		delete(n.watchers, s.Index)
	}
	f(s)
}

func (n *Namespace) refresh() {
	n.mu.Lock()
	var indexes []int
	for i := range n.watchers {
		indexes = append(indexes, i)
	}
	n.mu.Unlock()
	for _, i := range indexes {
		if s, err := n.byIndex(i); err == nil || s.Gone {
			n.tell(s)
		}
	}
}
