//go:build linux

package afxdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"routerd/nmring"
)

const maxSlots = 32768

// OpenOptions say how to open a port.
type OpenOptions struct {
	Queues   int // receive and transmit queue pairs, 0: as many as the interface has
	Slots    int // of each ring, 0: 1,024
	Settings nmring.Settings
	Events   nmring.Events
}

// Open takes the interface called ifname over. On error it is as it was before.
func (d *Driver) Open(ifname string, opt OpenOptions) (*Port, error) {
	if opt.Slots == 0 {
		opt.Slots = defaultSlots
	}
	if opt.Slots < nmring.MinSlots || opt.Slots > maxSlots || opt.Queues < 0 {
		return nil, fmt.Errorf("xdp:%s: %d slots, %d queues: a ring has %d to %d slots", ifname, opt.Slots, opt.Queues, nmring.MinSlots, maxSlots)
	}
	d.mu.Lock()
	if d.ports[ifname] != nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("xdp:%s: is open already: two ports name the same device", ifname)
	}
	p := &Port{driver: d, ifname: ifname, events: opt.Events}
	d.ports[ifname] = p
	d.mu.Unlock()
	if err := p.open(opt); err != nil {
		return nil, fmt.Errorf("xdp:%s: %w", ifname, errors.Join(err, p.Close()))
	}
	return p, nil
}

func (p *Port) open(opt OpenOptions) error {
	d := p.driver
	loan, err := d.ns.Borrow(p.ifname, d.opt.RunDir)
	if err != nil {
		return err
	}
	s, err := loan.State()
	if err != nil {
		return err
	}
	if s.XDP != 0 {
		return p.errAttached(s.XDP)
	}
	p.loan, p.index = loan, s.Index
	p.state.Store(&s)
	queues, err := loan.SetQueues(opt.Queues)
	if err != nil {
		return err
	}
	if kept, err := loan.KeepVLANTags(); err != nil {
		return err
	} else if !kept {
		p.notes = append(p.notes, "the driver takes VLAN tags off frames and cannot be told not to: tagged frames look untagged")
	}
	if err := p.configure(opt.Settings); err != nil {
		return err
	}
	if p.prog, err = loadProgram(queues, s.MAC, d.local); err != nil {
		return err
	}
	for q := range queues {
		if err := p.openQueue(q, opt.Slots); err != nil {
			return err
		}
	}
	if p.events.Overheard != nil {
		if p.arp, err = d.ns.TapARP(p.index, p.events.Overheard); err != nil {
			return err
		}
	}
	return p.start()
}

// start lets frames in, once everything else stands.
func (p *Port) start() error {
	err := p.prog.attach(p.index)
	switch {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		if s, err := p.loan.State(); err == nil && s.XDP != 0 {
			return p.errAttached(s.XDP)
		}
		return fmt.Errorf("another XDP program is attached: %w", err)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: too few queues for an XDP program; the peer of a veth interface must not send on more than %d: ethtool -L PEER tx %d",
			err, len(p.queues), len(p.queues))
	case err != nil:
		return err
	}
	if p.prog.generic {
		p.notes = append(p.notes, "the driver cannot run XDP programs: frames take the slow generic path")
	}
	if !p.driver.umem.unaligned() {
		p.notes = append(p.notes, fmt.Sprintf("no huge pages for packet buffers: set vm.nr_hugepages to at least %d and restart",
			(p.driver.umem.region.Count()*nmring.Stride+hugePage-1)/hugePage))
	}
	return p.driver.ns.Watch(p.index, p.follow)
}

func (p *Port) openQueue(q, slots int) error {
	u := p.driver.umem
	var first *socket
	if q > 0 {
		first = p.queues[0].socket
	}
	s, err := newSocket(u, slots, first != nil)
	if err != nil {
		return err
	}
	qu := &queue{socket: s}
	rx, err := newRing(u.region, q, nmring.Receive, slots)
	if err != nil {
		return errors.Join(err, s.close())
	}
	tx, err := newRing(u.region, q, nmring.Transmit, slots)
	if err != nil {
		u.region.GiveRing(rx)
		return errors.Join(err, s.close())
	}
	qu.rx = receiver{ring: rx, umem: u, fill: s.fill, arrived: s.arrived, kernel: newLedger(u.region.Count()), wake: s.receive}
	qu.tx = transmitter{ring: tx, umem: u, queued: s.queued, done: s.done, kernel: newLedger(u.region.Count()), wake: s.send}
	p.queues = append(p.queues, qu)
	qu.rx.start() // before the bind: a driver takes its first buffers then
	if err := s.bind(p.index, q, first); err != nil {
		return err
	}
	qu.tx.zeroCopy = s.zeroCopy
	return p.prog.setSocket(q, s)
}

func newRing(region *nmring.Region, q int, dir nmring.Direction, slots int) (*nmring.Ring, error) {
	r, err := nmring.NewRing(make([]byte, nmring.RingBytes(slots)), region, q, dir, slots)
	if err != nil {
		return nil, fmt.Errorf("queue %d: %w", q, err)
	}
	r.SetOffsetMask(offsetMask)
	for i := range r.Slots() {
		r.Slot(i).Ptr = headroom
	}
	return r, nil
}

func (p *Port) errAttached(id uint32) error {
	name := "unknown"
	if prog, err := ebpf.NewProgramFromID(ebpf.ProgramID(id)); err == nil {
		if info, err := prog.Info(); err == nil {
			name = info.Name
		}
		prog.Close()
	}
	if name == "routerd" {
		return fmt.Errorf("an XDP program (id %d, name %s) is already attached: another routerd has the interface", id, name)
	}
	return fmt.Errorf("an XDP program (id %d, name %s) is already attached; remove it with: ip link set dev %s xdp off", id, name, p.ifname)
}

// tooBig says why an MTU cannot be had.
func (u *umem) tooBig(mtu int) error {
	return fmt.Errorf("MTU %d is too big: packet buffers hold %d bytes; set mtu = %d or less in the port block", mtu, int(u.stride)-headroom, u.maxMTU())
}
