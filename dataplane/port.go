package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"routerd/dataplane/packet"
	"routerd/nmring"
)

// port is a port as the slow path knows it.
type port struct {
	index     int
	name      string
	nm        nmring.Port
	mac       packet.MAC
	mtu       int
	up        bool
	kernelARP bool
	host      nmring.Host
	addresses []netip.Prefix
	workers   int
	receives  []*receive
	transmits []*transmit // by queue
}

// newPort takes a port's rings into possession for the workers.
func newPort(index int, name string, nm nmring.Port, workers int) (*port, error) {
	info := nm.Info()
	if nm.Queues() < 1 {
		return nil, errors.New("the port has no queues")
	}
	if !packet.MAC(info.MAC).IsStation() {
		return nil, fmt.Errorf("%v is no station's MAC address", packet.MAC(info.MAC))
	}
	p := &port{index: index, name: name, nm: nm, mac: info.MAC, up: info.Up, kernelARP: info.KernelARP,
		host: nm.Host(), workers: workers}
	for q := range nm.Queues() {
		owner := fmt.Sprintf("worker %d", q%workers)
		if err := nm.RX(q).Acquire(owner); err != nil {
			p.release()
			return nil, fmt.Errorf("receive queue %d: %w", q, err)
		}
		p.receives = append(p.receives, &receive{port: nm, ring: nm.RX(q), queue: q, index: index,
			mac: macWord(p.mac), host: p.host != nil})
		if q >= workers {
			continue
		}
		if err := nm.TX(q).Acquire(owner); err != nil {
			p.release()
			return nil, fmt.Errorf("transmit queue %d: %w", q, err)
		}
		t := &transmit{port: nm, ring: nm.TX(q), queue: q}
		if q+nm.Queues() < workers {
			t.lock = new(sync.Mutex)
		}
		p.transmits = append(p.transmits, t)
	}
	return p, nil
}

// release gives the rings up.
func (p *port) release() {
	for _, r := range p.receives {
		r.ring.Release()
	}
	for _, t := range p.transmits {
		t.ring.Release()
	}
}

// sender is the worker that sends for the slow path on the port.
func (p *port) sender() int { return p.index % len(p.transmits) }

// owns says whether a is an address of the port.
func (p *port) owns(a uint32) bool {
	return slices.ContainsFunc(p.addresses, func(s netip.Prefix) bool { return s.Addr() == packet.Addr(a) })
}

// onSubnet says whether a is on a subnet of the port.
func (p *port) onSubnet(a uint32) bool {
	return slices.ContainsFunc(p.addresses, func(s netip.Prefix) bool { return s.Contains(packet.Addr(a)) })
}

// sourceFor is the port's address with which to speak to a: the one on a's subnet before
// the first one. It is 0 when the port has none.
func (p *port) sourceFor(a uint32) uint32 {
	for _, s := range p.addresses {
		if s.Contains(packet.Addr(a)) {
			return packet.FromAddr(s.Addr())
		}
	}
	if len(p.addresses) > 0 {
		return packet.FromAddr(p.addresses[0].Addr())
	}
	return 0
}
