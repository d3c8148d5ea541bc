package dataplane

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"routerd/fib"
	"routerd/nmring"
)

// Idle says what a worker without packets does.
type Idle string

const (
	Spin     Idle = "spin"     // go on asking: lowest latency, the whole CPU
	Adaptive Idle = "adaptive" // block after some empty rounds
)

// ErrPort says that a port's number is taken, unknown, or out of range.
var ErrPort = errors.New("no such port")

// Options are what a Dataplane is made of.
type Options struct {
	Workers int   // 1 by default, at most MaxWorkers
	CPUs    []int // CPU of each worker; empty: workers are not pinned
	Batch   int   // frames taken from a ring in a round: 1 to MaxBatch, Batch by default
	Idle    Idle  // Adaptive by default
	Table   *fib.Table
	State   *State
	Log     *slog.Logger              // none: discarded
	Clock   func() time.Time          // time.Now by default
	Pin     func(cpu int) error       // pins the calling thread; needed with CPUs
	Waiter  func() Waiter             // blocks an idle worker; by default a timer that polls
	ICMP    struct{ Rate, Burst int } // errors a second, and at once: 1000 and 100 by default
}

// Dataplane is the forwarding process's inside.
type Dataplane struct {
	options Options
	slow    *slowPath
	workers []*Worker
	bell    *bell
}

// Sizes of the rings between a worker and the slow path, in bytes.
var puntRingBytes = [classes]int{classARP: 64 << 10, classNeighbor: 256 << 10, classHost: 256 << 10, classError: 256 << 10}

const injectRingBytes = 512 << 10

// New makes a Dataplane without ports. Next hops that the table defines already are taken.
func New(o Options) (*Dataplane, error) {
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Batch == 0 {
		o.Batch = Batch
	}
	if o.Idle == "" {
		o.Idle = Adaptive
	}
	switch {
	case o.Table == nil || o.State == nil:
		return nil, errors.New("dataplane: the table and the state are needed")
	case o.Workers < 1 || o.Workers > MaxWorkers:
		return nil, fmt.Errorf("dataplane: %d workers: 1 to %d are possible", o.Workers, MaxWorkers)
	case o.Batch < 1 || o.Batch > MaxBatch:
		return nil, fmt.Errorf("dataplane: batches of %d frames: 1 to %d are possible", o.Batch, MaxBatch)
	case o.State.Identity().Workers != o.Workers:
		return nil, fmt.Errorf("dataplane: %d workers, the state segment was made for %d", o.Workers, o.State.Identity().Workers)
	case len(o.CPUs) > 0 && (len(o.CPUs) != o.Workers || o.Pin == nil):
		return nil, fmt.Errorf("dataplane: %d CPUs for %d workers: one each is needed, and a way to pin", len(o.CPUs), o.Workers)
	case o.Idle != Spin && o.Idle != Adaptive:
		return nil, fmt.Errorf("dataplane: idle %q: %q and %q are possible", o.Idle, Spin, Adaptive)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Waiter == nil {
		o.Waiter = func() Waiter { return make(sleeper, 1) }
	}
	if o.ICMP.Rate == 0 {
		o.ICMP.Rate, o.ICMP.Burst = 1000, 100
	}
	d := &Dataplane{options: o, bell: &bell{c: make(chan struct{}, 1)}}
	d.slow = newSlowPath(o, d.bell)
	for i := range o.Workers {
		w := &Worker{id: i, batch: uint32(o.Batch), table: o.Table, state: o.State, gleans: d.slow.gleans,
			injects: newFrameRing(injectRingBytes), slow: d.bell, faults: d.slow.faults}
		for c, size := range puntRingBytes {
			w.punts[c] = newFrameRing(size)
		}
		if o.Idle == Adaptive {
			w.waiter = o.Waiter()
		}
		w.view.Store(&view{})
		d.workers = append(d.workers, w)
	}
	d.slow.workers = d.workers
	d.operate(func(s *slowPath) {
		for i := range uint16(fib.MaxNextHops) {
			if o.Table.NextHop(i).Action != fib.ActionNoRoute {
				s.define(i)
			}
		}
	})
	return d, nil
}

func newSlowPath(o Options, b *bell) *slowPath {
	return &slowPath{
		table: o.Table, state: o.State, gleans: new(gleans), log: o.Log, bell: b,
		faults:    &faults{bell: b},
		overheard: &inbox{frameRing: newFrameRing(64 << 10)},
		fromHost:  &inbox{frameRing: newFrameRing(256 << 10)},
		hops:      make(map[uint16]*hop),
		neighbors: make(map[neighborKey]*neighbor),
		icmpErrors: bucket{rate: float64(o.ICMP.Rate), burst: float64(o.ICMP.Burst),
			tokens: float64(o.ICMP.Burst), last: o.Clock()},
	}
}

// operate runs a change in the slow path.
func (d *Dataplane) operate(change func(*slowPath)) {
	d.slow.mu.Lock()
	defer d.slow.mu.Unlock()
	d.slow.begin(d.options.Clock())
	change(d.slow)
	d.slow.end()
	d.bell.ring()
}

// onPort runs a change of a port that exists.
func (d *Dataplane) onPort(index int, change func(*slowPath, *port)) error {
	err := fmt.Errorf("dataplane: port %d: %w", index, ErrPort)
	d.operate(func(s *slowPath) {
		if index >= 0 && index < MaxPorts && s.ports[index] != nil {
			change(s, s.ports[index])
			err = nil
		}
	})
	return err
}

// Worker is worker w, for tests and benchmarks that run its rounds themselves.
func (d *Dataplane) Worker(w int) *Worker { return d.workers[w] }

// Step does what waits in the slow path and runs its timers up to now. It returns when the
// next one is due, zero if none, and whether more waits already. Run calls it; tests do.
func (d *Dataplane) Step(now time.Time) (next time.Time, more bool) { return d.slow.step(now) }

// Events are what the driver of port index shall call. They are to be handed to it when
// the port is opened; until AddPort they do nothing.
func (d *Dataplane) Events(index int) nmring.Events {
	return nmring.Events{
		Overheard: func(frame []byte) { d.slow.overheard.put(note{port: uint8(index)}, frame); d.bell.ring() },
		FromHost:  func(frame []byte) { d.slow.fromHost.put(note{port: uint8(index)}, frame); d.bell.ring() },
		Link:      func(up bool) { d.LinkChanged(index, up) },
	}
}

// LinkChanged tells that a port's link has come up or gone down.
func (d *Dataplane) LinkChanged(index int, up bool) {
	if index < 0 || index >= MaxPorts {
		return
	}
	to := linkDown
	if up {
		to = linkUp
	}
	d.slow.links[index].Store(to)
	d.bell.ring()
}

// AddPort begins to forward on a port, which is known by its number, 0 to MaxPorts-1, to
// the next hops of the FIB, and by its name to people. The rings must have no owner. The
// counters of a number go on when it is used again.
func (d *Dataplane) AddPort(index int, name string, nm nmring.Port, mtu int, addresses []netip.Prefix) error {
	if index < 0 || index >= MaxPorts {
		return fmt.Errorf("dataplane: port %q: %w: number %d, 0 to %d are possible", name, ErrPort, index, MaxPorts-1)
	}
	var err error
	d.operate(func(s *slowPath) {
		if other := s.ports[index]; other != nil {
			err = fmt.Errorf("%w: number %d is taken by %q", ErrPort, index, other.name)
			return
		}
		var p *port
		if p, err = newPort(index, name, nm, len(d.workers)); err != nil {
			return
		}
		p.mtu, p.addresses = mtu, addresses
		s.ports[index] = p
		s.faults.ports[index].Store(nil)
		d.publish()
		s.attachPort(index)
	})
	if err != nil {
		return fmt.Errorf("dataplane: port %q: %w", name, err)
	}
	return nil
}

// RemovePort stops forwarding on a port and returns when no worker touches its rings any
// more: then the port may be closed.
func (d *Dataplane) RemovePort(index int) error {
	var removed *port
	err := d.onPort(index, func(s *slowPath, p *port) {
		removed = p
		s.ports[index] = nil
		s.clearNeighbors(p, func(*neighbor) bool { return true })
		s.attachPort(index)
		d.publish()
	})
	if err != nil {
		return err
	}
	d.passQuietPoint()
	removed.release()
	return nil
}

// publish gives every worker its view of the ports.
func (d *Dataplane) publish() {
	var ports []*port
	for _, p := range d.slow.ports {
		if p != nil {
			ports = append(ports, p)
		}
	}
	for i, w := range d.workers {
		w.view.Store(newView(i, ports))
		w.wake()
	}
}

// passQuietPoint waits until every worker has finished the round it is in.
func (d *Dataplane) passQuietPoint() {
	epochs := d.options.State.Epochs()
	for snapshot := epochs.Snapshot(nil); !epochs.Passed(snapshot); {
		runtime.Gosched()
	}
}

// SetAddresses gives a port other addresses. Neighbours that are on none of their subnets
// go, gateways excepted.
func (d *Dataplane) SetAddresses(index int, addresses []netip.Prefix) error {
	return d.onPort(index, func(s *slowPath, p *port) {
		p.addresses = addresses
		s.clearNeighbors(p, func(n *neighbor) bool { return !n.pinned() && !p.onSubnet(n.key.addr) })
	})
}

// SetMTU gives a port another MTU, in bytes of IP packet.
func (d *Dataplane) SetMTU(index, mtu int) error {
	return d.onPort(index, func(s *slowPath, p *port) {
		p.mtu = mtu
		s.attachPort(index)
		for key, n := range s.neighbors {
			if key.port == index && n.resolved() {
				s.install(n)
			}
		}
	})
}

// NextHopsDefined takes new definitions of next hops from the FIB; control calls it after
// it has written them and before a group points to them. The search for gateways starts.
func (d *Dataplane) NextHopsDefined(nextHops []uint16) error {
	for _, i := range nextHops {
		if i >= fib.MaxNextHops {
			return fmt.Errorf("dataplane: next hop %d: 0 to %d are possible", i, fib.MaxNextHops-1)
		}
	}
	d.operate(func(s *slowPath) {
		for _, i := range nextHops {
			s.define(i)
		}
	})
	return nil
}

// Neighbors are the neighbours of all ports, by port and address.
func (d *Dataplane) Neighbors() []NeighborInfo {
	var all []NeighborInfo
	d.operate(func(s *slowPath) { all = s.snapshot() })
	return all
}

// FlushNeighbors forgets the neighbours of a port, and searches its gateways anew.
func (d *Dataplane) FlushNeighbors(index int) error {
	return d.onPort(index, func(s *slowPath, p *port) {
		s.clearNeighbors(p, func(*neighbor) bool { return true })
		s.attachPort(index)
	})
}

// Held is the number of packets that wait for neighbours, and how many of them came from
// workers: what the books of the slow path are short of.
func (d *Dataplane) Held() (all, taken int) {
	d.operate(func(s *slowPath) { all, taken = s.held, s.heldTaken })
	return all, taken
}
