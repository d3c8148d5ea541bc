//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// End is one end of a cable.
type End struct {
	Space     *Namespace
	Name      string // interface name, at most 15 characters
	Addresses []string
	Queues    int  // receive and transmit queues; 0: one
	Router    bool // a router under test drives it: offloads stay as the kernel made them
}

// Connect lays a veth pair between two namespaces, gives the ends their addresses
// and sets them up. Ends that are hosts send only finished packets (checksums
// filled in, no segments joined), since AF_XDP shows a frame as it lies in memory.
func (l *Lab) Connect(a, b End) error {
	qa, qb := strconv.Itoa(max(a.Queues, 1)), strconv.Itoa(max(b.Queues, 1))
	err := a.Space.IP("link", "add", a.Name, "numtxqueues", qa, "numrxqueues", qa, "type", "veth",
		"peer", "name", b.Name, "numtxqueues", qb, "numrxqueues", qb, "netns", b.Space.Name)
	if err != nil {
		return err
	}
	for _, e := range []End{a, b} {
		for _, address := range e.Addresses {
			if err := e.Space.IP("address", "add", address, "dev", e.Name); err != nil {
				return err
			}
		}
		if !e.Router {
			err := e.Space.Do(func() error { return disableOffloads(e.Name) })
			if err != nil {
				return fmt.Errorf("offloads of %s in %s: %w", e.Name, e.Space.Name, err)
			}
		}
	}
	for _, e := range []End{a, b} {
		if err := e.Space.IP("link", "set", e.Name, "up"); err != nil {
			return err
		}
	}
	return errors.Join(a.awaitCarrier(), b.awaitCarrier())
}

// awaitCarrier waits until the kernel has noticed that the other end is up.
func (e End) awaitCarrier() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return Await(ctx, "carrier on "+e.Name, func() error {
		return e.Space.Do(func() error {
			link, err := net.InterfaceByName(e.Name)
			if err == nil && link.Flags&net.FlagRunning == 0 {
				err = errors.New("link is not running")
			}
			return err
		})
	})
}
