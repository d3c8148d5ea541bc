package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"routerd/config"
	"routerd/control/api"
	"routerd/dataplane"
	"routerd/dataplane/attach"
)

// showTimeout is how long a show waits for the forwarding process.
const showTimeout = 2 * time.Second

// portStatus is the state of the port as the forwarding process reported it last. It is
// called under mu.
func (r *router) portStatus(name string) (attach.PortStatus, bool) {
	i := slices.IndexFunc(r.ports, func(s attach.PortStatus) bool { return s.Name == name })
	if i < 0 {
		return attach.PortStatus{}, false
	}
	return r.ports[i], true
}

// Ports implements api.Backend.
func (r *router) Ports(ctx context.Context) ([]api.Port, error) {
	// Drivers' own counters are read now; without an answer the last ones stand.
	if p := r.currentPlane(); p != nil {
		ctx, cancel := context.WithTimeout(ctx, showTimeout)
		defer cancel()
		if l, err := p.client.Ports(ctx); err == nil {
			r.refresh(l.Ports)
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	ports := []api.Port{}
	for _, c := range r.cfg.Ports {
		ports = append(ports, r.port(c))
	}
	return ports, nil
}

// currentPlane is the forwarding process, or nil.
func (r *router) currentPlane() *plane {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.plane
}

// refresh takes over counters and notes of the ports that are known; which ports there
// are, and whether they are up, is for events to say.
func (r *router) refresh(now []attach.PortStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.ports {
		for _, n := range now {
			if n.Name == r.ports[i].Name && n.Index == r.ports[i].Index {
				r.ports[i].Counters, r.ports[i].Notes, r.ports[i].Mode = n.Counters, n.Notes, n.Mode
			}
		}
	}
}

// port is called under mu.
func (r *router) port(c config.Port) api.Port {
	p := api.Port{Name: c.Name, Description: c.Description, Device: c.Device, MTU: c.MTU,
		Addresses: c.Addresses, OperStatus: "down"}
	s, ok := r.portStatus(c.Name)
	if !ok {
		return p
	}
	p.Driver, p.Mode, p.MAC, p.MTU = s.Driver, s.Mode, s.MAC, s.LinkMTU
	p.Speed = uint64(s.SpeedMbps) * 1e6
	p.Notes = s.Notes
	if s.Error != "" {
		p.Notes = append(slices.Clone(p.Notes), s.Error)
	}
	if s.Up {
		p.OperStatus = "up"
	}
	if h := r.links[c.Name]; h != nil {
		p.LastChange, p.Transitions = h.since, h.changes
	}
	if r.plane == nil || s.Index < 0 {
		return p
	}
	setup := r.plane.client.Welcome().Setup
	p.Counters = counters(r.plane.state.Port(s.Index))
	for q := range s.Queues {
		w := q % setup.Workers
		queue := api.Queue{ID: q, Worker: w, CPU: setup.CPU(w)}
		if s.Queues <= setup.Workers {
			queue.Counters = counters(r.plane.state.WorkerPort(w, s.Index))
		}
		p.Queues = append(p.Queues, queue)
	}
	for _, d := range s.Counters {
		var lost *uint64
		switch {
		case !strings.HasPrefix(d.Name, "rx_"), d.Name == "rx_fill_ring_empty_descs":
			continue // AF_XDP counts a frame without a buffer in rx_dropped, too
		case d.Queue < len(p.Queues):
			lost = &p.Queues[d.Queue].Counters.InDiscards
			*lost += d.Value
		}
		p.Counters.InDiscards += d.Value
	}
	return p
}

// counters give each packet one fate: those in and injected are those out, dropped and
// punted, where punted does not count what the slow path dropped.
func counters(c dataplane.Counters) api.Counters {
	out := api.Counters{
		InPkts: c.RxPackets, InOctets: c.RxBytes, OutPkts: c.TxPackets, OutOctets: c.TxBytes,
		Injected: c.Injected, Dropped: c.AllDrops(), Punted: c.AllPunts(), OutDiscards: c.Drops(dataplane.DropTxFull),
	}
	for _, n := range c.Slow.Dropped {
		out.Punted -= min(out.Punted, n)
	}
	return out
}

// Neighbors implements api.Backend.
func (r *router) Neighbors(ctx context.Context) ([]api.Neighbor, error) {
	neighbors := []api.Neighbor{}
	list, err := r.neighbors(ctx)
	for _, n := range list {
		neighbors = append(neighbors, api.Neighbor{Port: n.Port, Address: n.Address, MAC: n.MAC,
			State: neighborState(n.State), Confirmed: n.Confirmed, Used: n.Used, Held: n.Held, Dropped: n.Dropped})
	}
	return neighbors, err
}

// neighbors asks the forwarding process; one that is not running has none.
func (r *router) neighbors(ctx context.Context) ([]attach.Neighbor, error) {
	p := r.currentPlane()
	if p == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	return p.client.Neighbors(ctx)
}

// Drops implements api.Backend.
func (r *router) Drops(context.Context) ([]api.Drop, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	drops := make([]api.Drop, dataplane.DropReasons)
	for i := range drops {
		reason := dataplane.DropReason(i)
		drops[i] = api.Drop{Reason: reason.String(), Meaning: reason.Meaning()}
	}
	if r.plane == nil {
		return drops, nil
	}
	for i, n := range r.reasonTotals() {
		drops[i].Packets, drops[i].Last = n, r.drops.last(dataplane.DropReason(i), n)
	}
	for _, s := range r.ports {
		if s.Index < 0 {
			continue
		}
		c := r.plane.state.Port(s.Index)
		for i := range drops {
			if n := c.Drops(dataplane.DropReason(i)); n > 0 {
				drops[i].Ports = append(drops[i].Ports, api.PortDrop{Port: s.Name, Packets: n})
			}
		}
	}
	return drops, nil
}

// reasonTotals are the drops of the running forwarding process by reason. It is called by
// run or under mu.
func (r *router) reasonTotals() (totals [dataplane.DropReasons]uint64) {
	if r.plane == nil {
		return totals
	}
	c := r.plane.state.Total()
	for i := range totals {
		totals[i] = c.Drops(dataplane.DropReason(i))
	}
	return totals
}

// dropTimes remembers when each reason was last seen to grow, to the second.
type dropTimes struct {
	mu     sync.Mutex
	totals [dataplane.DropReasons]uint64
	at     [dataplane.DropReasons]time.Time
}

func (d *dropTimes) sample(totals [dataplane.DropReasons]uint64, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, n := range totals {
		if n > d.totals[i] {
			d.at[i] = now
		}
	}
	d.totals = totals
}

// last is when reason was last seen; packets since the last sample were seen now.
func (d *dropTimes) last(reason dataplane.DropReason, packets uint64) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if packets > d.totals[reason] {
		return time.Now()
	}
	return d.at[reason]
}
