//go:build linux

package afxdp

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"routerd/nmring"
	"routerd/platform/linux/netdev"
)

// Port is an interface as rings.
type Port struct {
	driver *Driver
	ifname string
	index  int
	loan   *netdev.Loan
	prog   *program
	queues []*queue
	arp    *netdev.ARPTap
	events nmring.Events
	notes  []string

	gone  atomic.Bool
	state atomic.Pointer[netdev.State]

	mu     sync.Mutex // Configure against Close
	closed bool
}

// queue is a socket and the two rings that it feeds.
type queue struct {
	socket *socket
	rx     receiver
	tx     transmitter
}

var _ nmring.Port = (*Port)(nil)

func (p *Port) Queues() int           { return len(p.queues) }
func (p *Port) RX(q int) *nmring.Ring { return p.queues[q].rx.ring }
func (p *Port) TX(q int) *nmring.Ring { return p.queues[q].tx.ring }
func (p *Port) PollFD(q int) int      { return p.queues[q].socket.fd }
func (p *Port) Host() nmring.Host     { return nil }

// RxSync takes back the slots before head and shows the frames that have arrived.
func (p *Port) RxSync(q int) error {
	if p.gone.Load() {
		return p.errGone()
	}
	return p.queues[q].rx.sync()
}

// TxSync sends the frames before head and gives the slots of those sent back.
func (p *Port) TxSync(q int) error {
	if p.gone.Load() {
		return p.errGone()
	}
	return p.queues[q].tx.sync()
}

func (p *Port) errGone() error { return fmt.Errorf("xdp:%s: %w", p.ifname, nmring.ErrGone) }

// Info describes the interface as the kernel last told.
func (p *Port) Info() nmring.Info {
	s := p.state.Load()
	info := nmring.Info{Driver: "afxdp", Mode: "copy", Device: p.ifname, MAC: s.MAC, MTU: s.MTU,
		Up: s.Up, KernelARP: true, Notes: slices.Clone(p.notes)}
	if p.queues[0].socket.zeroCopy {
		info.Mode = "zero copy"
	}
	if p.prog.generic {
		info.Mode = "copy, generic XDP"
	}
	if info.Gone = s.Gone; s.Gone {
		return info
	}
	info.SpeedMbps = p.driver.ns.SpeedMbps(p.ifname)
	if s.MTU > p.driver.umem.maxMTU() {
		info.Notes = append(info.Notes, p.driver.umem.tooBig(s.MTU).Error())
	}
	return info
}

// Counters are the kernel's counters of the queue's socket, the frames that the XDP
// program passed to the kernel, and what the driver refused.
func (p *Port) Counters(q int) []nmring.Counter {
	qu := p.queues[q]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	st, _ := qu.socket.statistics()
	list := []nmring.Counter{
		{Name: "rx_dropped", Value: st.Rx_dropped},
		{Name: "rx_invalid_descs", Value: st.Rx_invalid_descs},
		{Name: "tx_invalid_descs", Value: st.Tx_invalid_descs},
		{Name: "rx_ring_full", Value: st.Rx_ring_full},
		{Name: "rx_fill_ring_empty_descs", Value: st.Rx_fill_ring_empty_descs},
		{Name: "tx_ring_empty_descs", Value: st.Tx_ring_empty_descs},
		{Name: "rx_foreign_descriptor", Value: qu.rx.foreign.Load()},
		{Name: "rx_malformed_descriptor", Value: qu.rx.malformed.Load()},
		{Name: "tx_foreign_completion", Value: qu.tx.foreign.Load()},
		{Name: "tx_malformed_slot", Value: qu.tx.malformed.Load()},
		{Name: "tx_wakeup_refused", Value: qu.tx.refused.Load()},
	}
	for c, name := range causeNames {
		list = append(list, nmring.Counter{Name: name, Value: p.prog.count(q, cause(c))})
	}
	return list
}

// Configure sets the interface up and makes its MTU, its addresses and the addresses of
// the host, which are common to all ports, what s says.
func (p *Port) Configure(s nmring.Settings) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.gone.Load() {
		return p.errGone()
	}
	if err := p.configure(s); err != nil {
		return fmt.Errorf("xdp:%s: %w", p.ifname, err)
	}
	return nil
}

func (p *Port) configure(s nmring.Settings) error {
	if s.MTU > p.driver.umem.maxMTU() {
		return p.driver.umem.tooBig(s.MTU)
	}
	if err := p.loan.SetMTU(s.MTU); err != nil {
		return err
	}
	// First the addresses of the host: a frame for one of them must not be routed.
	if err := p.driver.setLocal(s.Local); err != nil {
		return err
	}
	if err := p.loan.SetUp(); err != nil {
		return err
	}
	if err := p.loan.SetAddresses(s.Addresses); err != nil {
		return err
	}
	now, err := p.loan.State()
	if err != nil {
		return err
	}
	if now.MTU > p.driver.umem.maxMTU() {
		return p.driver.umem.tooBig(now.MTU)
	}
	return nil
}

// follow takes over what the kernel tells of the interface.
func (p *Port) follow(s netdev.State) {
	before := p.state.Load()
	if s.Gone {
		s = *before
		s.Gone, s.Up = true, false
		p.gone.Store(true)
	}
	p.state.Store(&s)
	if s.MAC != before.MAC {
		if err := p.prog.setMAC(s.MAC); err != nil {
			p.driver.log.Error("follow the new MAC address", "device", "xdp:"+p.ifname, "error", err)
		}
	}
	if (s.Up != before.Up || s.MAC != before.MAC) && p.events.Link != nil {
		p.events.Link(s.Up)
	}
}
