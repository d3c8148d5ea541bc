//go:build linux

package netdev

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Namespace is the kernel's side of a network namespace.
type Namespace struct {
	log    *slog.Logger
	here   netns.NsHandle
	links  *netlink.Handle
	ioctls int // a socket to send ioctls to

	mu       sync.Mutex
	watchers map[int]func(State) // by interface index
	done     chan struct{}
	watching sync.WaitGroup
}

// Open opens the network namespace of the calling thread and starts to watch its links.
func Open(log *slog.Logger) (*Namespace, error) {
	n := &Namespace{log: log, here: netns.None(), ioctls: -1,
		watchers: make(map[int]func(State)), done: make(chan struct{})}
	if err := n.open(); err != nil {
		n.closeDescriptors()
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	return n, nil
}

func (n *Namespace) open() (err error) {
	if n.here, err = netns.Get(); err != nil {
		return err
	}
	if n.links, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return err
	}
	if n.ioctls, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	updates, err := n.subscribe()
	if err != nil {
		return err
	}
	n.watching.Go(func() { n.watch(updates) })
	return nil
}

// Close stops the watch. Loans must have been returned.
func (n *Namespace) Close() error {
	close(n.done)
	n.watching.Wait()
	return n.closeDescriptors()
}

func (n *Namespace) closeDescriptors() error {
	var errs []error
	if n.links != nil {
		n.links.Close()
	}
	if n.ioctls >= 0 {
		errs = append(errs, unix.Close(n.ioctls))
	}
	if n.here.IsOpen() {
		errs = append(errs, n.here.Close())
	}
	return errors.Join(errs...)
}
