package main

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
	"routerd/nmring/loopback"
)

const (
	slots    = 1024
	inFlight = 960 // packets of one worker, on all its ports
	nextHops = 64
)

// router is the forwarding process's inside between looped-back ports.
type router struct {
	plane *dataplane.Dataplane
	state *dataplane.State
	ports []*port
	hops  []hop // what the groups of the table lead to, by hash of the prefix
	now   time.Time
	lost  uint64 // packets dropped or punted before the measurement
}

// hop is one of the next hops.
type hop struct {
	group   uint16
	port    int
	mac     packet.MAC
	gateway netip.Addr
}

// segments are the memory that a control process shares with a forwarding process.
type segments struct{ table, writer, state []byte }

// newSegments makes them on huge pages, or as routerd does for a child process to map.
func newSegments(share bool) (segments, []*os.File, error) {
	if share {
		return shared()
	}
	s := segments{loopback.Memory(fib.TableSize()), loopback.Memory(fib.WriterSize()), loopback.Memory(dataplane.StateSize())}
	return s, nil, fib.Format(s.table, s.writer)
}

// hashed chooses a next hop for a prefix.
func hashed(p netip.Prefix) int {
	return int((word(p.Addr())*0x9e37_79b1 ^ uint32(p.Bits())*0x85eb_ca6b) >> 26)
}

// newRouter makes workers between ports with the whole table.
func newRouter(s segments, prefixes []netip.Prefix, workers, ports, batch int) (*router, error) {
	state, err := dataplane.FormatState(s.state, dataplane.Identity{PID: 1, Workers: workers, Start: time.Now()})
	if err != nil {
		return nil, err
	}
	table, err := fib.OpenTable(s.table)
	if err != nil {
		return nil, err
	}
	r := &router{state: state, now: time.Now()}
	r.plane, err = dataplane.New(dataplane.Options{Workers: workers, Batch: batch, Idle: dataplane.Spin, Table: table, State: state,
		Clock: func() time.Time { return r.now }})
	if err != nil {
		return nil, err
	}
	if err := r.addPorts(workers, ports, batch); err != nil {
		return nil, err
	}
	w, err := fib.NewWriter(s.table, s.writer, fib.Options{Define: r.plane.NextHopsDefined})
	if err != nil {
		return nil, err
	}
	if err := r.addHops(w); err != nil {
		return nil, err
	}
	r.plane.Step(r.now)
	return r, r.fill(w, prefixes)
}

func (r *router) addPorts(workers, ports, batch int) error {
	buffers := workers*ports*2*slots + nmring.FirstBuffer
	region, err := nmring.NewRegion(loopback.Memory(buffers*nmring.Stride), nmring.Stride)
	if err != nil {
		return err
	}
	for i := range ports {
		nic, err := loopback.New(region, loopback.Options{MAC: packet.MAC{2, 0, 0, 0, 1, byte(i)}, Queues: workers,
			Slots: slots, Frames: inFlight / ports, Burst: batch})
		if err != nil {
			return err
		}
		p := &port{Port: nic}
		if err := r.plane.AddPort(i, fmt.Sprintf("loop%d", i), p, 1500, nil); err != nil {
			return err
		}
		r.ports = append(r.ports, p)
	}
	return nil
}

// newHop is next hop i.
func newHop(i, ports int) hop {
	p := i % ports
	return hop{port: p, mac: packet.MAC{2, 1, 1, 1, 1, byte(i)}, gateway: netip.AddrFrom4([4]byte{10, 0, byte(p), byte(i + 1)})}
}

// addHops makes next hops whose neighbours are known.
func (r *router) addHops(w *fib.Writer) error {
	for i := range nextHops {
		h := newHop(i, len(r.ports))
		index, err := w.AcquireNextHop(fib.NextHop{Action: fib.ActionForward, Port: uint16(h.port), Gateway: h.gateway})
		if err != nil {
			return err
		}
		if h.group, err = w.NewGroup([]uint16{index}); err != nil {
			return err
		}
		r.plane.Events(h.port).Overheard(arpReply(h, packet.MAC(r.ports[h.port].Info().MAC)))
		r.hops = append(r.hops, h)
	}
	return nil
}

func arpReply(h hop, to packet.MAC) []byte {
	f := make([]byte, packet.MinFrame)
	packet.Ethernet(f).Encode(to, h.mac, packet.TypeARP)
	packet.ARP(f[packet.EthernetLen:]).Encode(packet.ARPReply, h.mac, packet.FromAddr(h.gateway), to, 0)
	return f
}

// fill sets all prefixes, and a default route by the first next hop.
func (r *router) fill(w *fib.Writer, prefixes []netip.Prefix) error {
	if err := w.Set(netip.MustParsePrefix("0.0.0.0/0"), r.hops[0].group); err != nil {
		return err
	}
	for _, p := range prefixes {
		if err := w.Set(p, r.hops[hashed(p)].group); err != nil {
			return err
		}
	}
	return nil
}

// stream points all queues at a stream, each at its own place; nil keeps the packets.
func (r *router) stream(addresses []uint32) {
	queues := len(r.ports) * r.ports[0].Queues()
	for i, p := range r.ports {
		for q := range p.Queues() {
			p.SetStream(q, addresses, (i*p.Queues()+q)*len(addresses)/queues)
		}
	}
}
