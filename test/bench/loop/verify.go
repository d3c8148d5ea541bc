package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/gaissmai/bart"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/nmring/loopback"
)

// port looks at what leaves by it while somebody verifies one of its queues.
type port struct {
	*loopback.Port
	verify func(frame []byte)
	seen   uint32 // next transmit slot to look at
}

func (p *port) TxSync(q int) error {
	if p.verify != nil {
		for tx := p.TX(q); p.seen != tx.Head(); p.seen = tx.Next(p.seen) {
			p.verify(tx.Frame(p.seen))
		}
	}
	return p.Port.TxSync(q)
}

// oracle says which next hop an address has, by another structure than the FIB.
type oracle struct{ table bart.Fast[int] }

func newOracle(prefixes []netip.Prefix) *oracle {
	o := new(oracle)
	for _, p := range prefixes {
		o.table.Insert(p, hashed(p))
	}
	return o
}

// verify runs rounds until n packets have left, and compares each with what it should be.
func (r *router) verify(o *oracle, worker, n int) error {
	var left int
	var wrong error
	for i, p := range r.ports {
		p.seen = p.TX(worker).Head()
		p.verify = func(frame []byte) {
			left++
			if err := r.compare(o, i, frame); err != nil && wrong == nil {
				wrong = err
			}
		}
		defer func() { p.verify = nil }()
	}
	for left < n && wrong == nil {
		if r.plane.Worker(worker).Round() == 0 {
			return fmt.Errorf("worker %d: no packets are left in the loop", worker)
		}
	}
	return wrong
}

func (r *router) compare(o *oracle, by int, frame []byte) error {
	eth, ip := packet.Ethernet(frame), packet.IPv4(frame[packet.EthernetLen:])
	dst := packet.Addr(ip.Destination())
	index, _ := o.table.Lookup(dst)
	want := r.hops[index]
	switch {
	case by != want.port:
		return fmt.Errorf("packet to %v left by port %d, not %d", dst, by, want.port)
	case eth.Destination() != want.mac || eth.Source() != packet.MAC(r.ports[by].Info().MAC):
		return fmt.Errorf("packet to %v left for station %v from %v, not for %v", dst, eth.Destination(), eth.Source(), want.mac)
	case ip.TTL() != 63:
		return fmt.Errorf("packet to %v left with TTL %d, not 63", dst, ip.TTL())
	case packet.Sum(ip[:packet.IPv4Len]) != 0:
		return fmt.Errorf("packet to %v left with a wrong checksum", dst)
	}
	return nil
}

// settle lets the slow path's own ARP requests come back and be taken.
func (r *router) settle() {
	for range 100 {
		for i := range r.ports[0].Queues() {
			r.plane.Worker(i).Round()
		}
		r.plane.Step(r.now)
	}
	c := r.state.Total()
	r.lost = c.AllDrops() + c.AllPunts()
}

// clean says that nothing was dropped or punted since settle.
func (r *router) clean() error {
	c := r.state.Total()
	if n := c.AllDrops() + c.AllPunts() - r.lost; n > 0 {
		return fmt.Errorf("%d packets dropped or punted, so the figures are void; dropped since the start:%s", n, reasons(&c))
	}
	if workers, _ := c.Balance(); workers != 0 {
		return errors.New("the books of the workers do not balance: the figures are void")
	}
	return nil
}

// reasons lists why packets were dropped or punted.
func reasons(c *dataplane.Counters) (list string) {
	for i := range dataplane.DropReason(dataplane.DropReasons) {
		if n := c.Drops(i); n > 0 {
			list += fmt.Sprintf(" %v %d", i, n)
		}
	}
	for i, n := range c.Punted {
		if n > 0 {
			list += fmt.Sprintf(" punted %v %d", dataplane.PuntCause(i), n)
		}
	}
	return list
}
