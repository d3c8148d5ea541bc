package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"routerd/dataplane"
	"routerd/dataplane/attach"
	"routerd/dataplane/packet"
	"routerd/nmring"
	"routerd/platform"
)

// forwarding is the forwarding process as its control process sees it: it opens and
// closes ports and hands them to the workers.
type forwarding struct {
	system *platform.System
	plane  *dataplane.Dataplane
	server *attach.Server
	log    *slog.Logger

	mu     sync.Mutex
	ports  map[string]*openPort
	failed map[string]attach.PortStatus // what of the last SetPorts did not succeed, by port
}

// openPort is an open port and what control last wanted of it.
type openPort struct {
	attach.Port
	index int
	port  nmring.Port
	mac   [6]byte // that the workers know it by
}

func newForwarding(system *platform.System, plane *dataplane.Dataplane, log *slog.Logger) *forwarding {
	return &forwarding{system: system, plane: plane, log: log, ports: map[string]*openPort{}}
}

// SetPorts closes, changes and opens ports until they are those of l. A port whose device
// is not what was opened is opened again. A port that fails is reported with its error and
// hinders no other.
func (f *forwarding) SetPorts(l attach.PortList) attach.PortStatusList {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, p := range f.ports {
		i := slices.IndexFunc(l.Ports, func(w attach.Port) bool { return w.Name == name })
		if i < 0 || l.Ports[i].Device != p.Device || l.Ports[i].Queues != p.Queues || p.lost() != "" {
			f.close(p)
		}
	}
	local := localAddresses(l.Ports)
	failed := map[string]attach.PortStatus{}
	for _, want := range l.Ports {
		p := f.ports[want.Name]
		var err error
		if p == nil {
			err = f.open(want, local)
		} else {
			err = f.change(p, want, local)
		}
		if err == nil {
			continue
		}
		failed[want.Name] = attach.PortStatus{Port: want, Index: -1, Error: oneLine(err)}
		if f.failed[want.Name].Error != oneLine(err) {
			f.log.Error("port", "port", want.Name, "device", want.Device, "error", err)
		}
	}
	f.failed = failed
	// What a forwarding process that crashed had borrowed and nobody wants any more goes back.
	if err := f.system.Settle(); err != nil {
		f.log.Error("interfaces of an earlier forwarding process", "error", err)
	}
	return f.status()
}

func (f *forwarding) open(want attach.Port, local []netip.Addr) error {
	index := f.freeIndex()
	if index < 0 {
		return fmt.Errorf("all %d ports are in use", dataplane.MaxPorts)
	}
	events := f.plane.Events(index)
	link := events.Link
	events.Link = func(up bool) {
		link(up)
		// The driver must not wait for us, and we may be waiting for the driver.
		go f.tell()
	}
	port, err := f.system.Open(want.Device, platform.OpenOptions{
		Queues: want.Queues, Settings: settings(want, local), Events: events})
	if err != nil {
		return err
	}
	if err := f.plane.AddPort(index, want.Name, port, port.Info().MTU, want.Addresses); err != nil {
		_ = port.Close()
		return err
	}
	f.ports[want.Name] = &openPort{Port: want, index: index, port: port, mac: port.Info().MAC}
	f.log.Info("port open", "port", want.Name, "device", want.Device, "driver", port.Info().Driver, "mode", port.Info().Mode)
	return nil
}

func (f *forwarding) change(p *openPort, want attach.Port, local []netip.Addr) error {
	if err := p.port.Configure(settings(want, local)); err != nil {
		return err
	}
	p.Port = want
	return errors.Join(f.plane.SetMTU(p.index, p.port.Info().MTU), f.plane.SetAddresses(p.index, want.Addresses))
}

// close takes a port from the workers, then closes it.
func (f *forwarding) close(p *openPort) {
	err := f.plane.RemovePort(p.index)
	if err == nil {
		err = p.port.Close()
	}
	if err != nil {
		f.log.Error("port does not close cleanly", "port", p.Name, "error", err)
	}
	delete(f.ports, p.Name)
	f.log.Info("port closed", "port", p.Name, "device", p.Device)
}

// Stop closes every port.
func (f *forwarding) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.ports {
		f.close(p)
	}
}

// lost says why the port has to be closed and opened again, if it has.
func (p *openPort) lost() string {
	switch info := p.port.Info(); {
	case info.Gone:
		return "the interface is gone; the port opens again when it is back"
	case info.MAC != p.mac:
		return "the interface has another MAC address; the port opens again with it"
	}
	return ""
}

// freeIndex is the lowest index that no port has, or -1.
func (f *forwarding) freeIndex() int {
	var used [dataplane.MaxPorts]bool
	for _, p := range f.ports {
		used[p.index] = true
	}
	return slices.Index(used[:], false)
}

// tell sends the state of all ports to the control process.
func (f *forwarding) tell() { f.server.Event(f.Ports()) }

// Ports is the state of all ports.
func (f *forwarding) Ports() attach.PortStatusList {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status()
}

func (f *forwarding) status() attach.PortStatusList {
	var l attach.PortStatusList
	for _, p := range f.ports {
		info := p.port.Info()
		s := attach.PortStatus{Port: p.Port, Index: p.index, Driver: info.Driver, Mode: info.Mode,
			MAC: net.HardwareAddr(info.MAC[:]).String(), LinkMTU: info.MTU, SpeedMbps: info.SpeedMbps,
			Up: info.Up, Notes: info.Notes, Error: f.failed[p.Name].Error}
		if lost := p.lost(); lost != "" {
			s.Error = lost
		}
		for q := range p.port.Queues() {
			for _, c := range p.port.Counters(q) {
				s.Counters = append(s.Counters, attach.Counter{Queue: q, Name: c.Name, Value: c.Value})
			}
		}
		l.Ports = append(l.Ports, s)
	}
	for name, s := range f.failed {
		if f.ports[name] == nil {
			l.Ports = append(l.Ports, s)
		}
	}
	slices.SortFunc(l.Ports, func(a, b attach.PortStatus) int {
		return cmp.Or(a.Index-b.Index, strings.Compare(a.Name, b.Name))
	})
	return l
}

// DefineNextHops passes on what control has defined in the FIB.
func (f *forwarding) DefineNextHops(indexes []uint16) error { return f.plane.NextHopsDefined(indexes) }

// Neighbors is the neighbour table.
func (f *forwarding) Neighbors() attach.NeighborList {
	var l attach.NeighborList
	for _, n := range f.plane.Neighbors() {
		a := attach.Neighbor{Port: n.PortName, Address: n.Address, State: n.State.String(),
			Confirmed: n.Confirmed, Used: n.Used, Held: n.Held, Dropped: n.Dropped}
		if n.MAC != (packet.MAC{}) {
			a.MAC = n.MAC.String()
		}
		l.Neighbors = append(l.Neighbors, a)
	}
	return l
}

func settings(p attach.Port, local []netip.Addr) nmring.Settings {
	return nmring.Settings{MTU: p.MTU, Addresses: p.Addresses, Local: local}
}

// localAddresses are the addresses that the host stack answers for: those of all ports,
// and the broadcast addresses of their subnets.
func localAddresses(ports []attach.Port) []netip.Addr {
	var local []netip.Addr
	for _, p := range ports {
		for _, a := range p.Addresses {
			local = append(local, a.Addr())
			if a.Bits() <= 30 {
				local = append(local, a.Masked().Addr(), lastAddress(a))
			}
		}
	}
	slices.SortFunc(local, netip.Addr.Compare)
	return slices.Compact(local)
}

// lastAddress is the all-ones host address of an IPv4 prefix.
func lastAddress(p netip.Prefix) netip.Addr {
	a := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		a[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(a)
}
