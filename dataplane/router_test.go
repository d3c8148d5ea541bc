package dataplane_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
	"routerd/nmring/loopback"
	"routerd/nmring/ringtest"
)

// A FIB takes 200 MB of address space, so the tests share one. Each leaves it empty.
type sharedFIB struct {
	table  *fib.Table
	writer *fib.Writer
	define func([]uint16) error
	epochs fib.Epochs
}

func (s *sharedFIB) Snapshot(dst []uint64) []uint64 {
	if s.epochs == nil {
		return dst[:0]
	}
	return s.epochs.Snapshot(dst)
}
func (s *sharedFIB) Passed(snapshot []uint64) bool {
	return s.epochs == nil || s.epochs.Passed(snapshot)
}

var oneFIB = sync.OnceValue(func() *sharedFIB {
	s := new(sharedFIB)
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	table, writer := loopback.Memory(fib.TableSize()), loopback.Memory(fib.WriterSize())
	must(fib.Format(table, writer))
	var err error
	s.table, err = fib.OpenTable(table)
	must(err)
	s.writer, err = fib.NewWriter(table, writer, fib.Options{Epochs: s,
		Define: func(hops []uint16) error { return s.define(hops) }})
	must(err)
	return s
})

// router is a whole router whose ports end in wires. Time moves only by pass.
type router struct {
	t      testing.TB
	dp     *dataplane.Dataplane
	state  *dataplane.State
	fib    *sharedFIB
	region *nmring.Region
	now    time.Time
	wires  map[string]*wire
	order  []*wire
	groups []uint16
	routes map[netip.Prefix]bool
}

// wire is one port of the router and what stands at its other end.
type wire struct {
	*ringtest.Wire
	r     *router
	index int
	name  string
	port  *nmring.PipePort
	mac   packet.MAC
	addr  netip.Addr
	arp   bool // answers ARP requests for every address by farMAC
	far   packet.MAC
	host  *host
}

// host is a stack that keeps what it gets.
type host struct {
	got  [][]byte
	full bool
}

func (h *host) Deliver(frame []byte) bool {
	if h.full {
		return false
	}
	h.got = append(h.got, append([]byte(nil), frame...))
	return true
}

type routerOptions struct {
	workers int // 1 by default
	burst   int // of ICMP errors; then one a second
	buffers int // 8192 by default
}

func newRouter(t testing.TB, o routerOptions) *router {
	t.Helper()
	if o.workers == 0 {
		o.workers = 1
	}
	if o.buffers == 0 {
		o.buffers = 8192
	}
	r := &router{t: t, fib: oneFIB(), region: ringtest.Region(t, o.buffers, nmring.Stride),
		now: time.Unix(1_800_000_000, 0), wires: make(map[string]*wire), routes: make(map[netip.Prefix]bool)}
	var err error
	r.state, err = dataplane.FormatState(make([]byte, dataplane.StateSize()),
		dataplane.Identity{PID: 1, Workers: o.workers, Start: r.now})
	if err != nil {
		t.Fatal(err)
	}
	options := dataplane.Options{Workers: o.workers, Table: r.fib.table, State: r.state,
		Clock: func() time.Time { return r.now }}
	if o.burst != 0 {
		options.ICMP.Rate, options.ICMP.Burst = 1, o.burst
	}
	if r.dp, err = dataplane.New(options); err != nil {
		t.Fatal(err)
	}
	r.fib.define, r.fib.epochs = r.dp.NextHopsDefined, r.state.Epochs()
	t.Cleanup(r.reset)
	return r
}

// reset empties the FIB for the next router of the same test.
func (r *router) reset() {
	w := r.fib.writer
	for p := range r.routes {
		if _, err := w.Delete(p); err != nil {
			r.t.Error(err)
		}
	}
	for _, g := range r.groups {
		w.FreeGroup(g)
	}
	clear(r.routes)
	r.groups = nil
	r.fib.epochs, r.fib.define = nil, nil
}

// port adds a port with an address, its routes, and a neighbourhood that answers ARP.
func (r *router) port(name, prefix string, opt nmring.PipeOptions) *wire {
	return r.portIn(r.region, name, prefix, opt, nil)
}

func (r *router) portIn(region *nmring.Region, name, prefix string, opt nmring.PipeOptions, h *host) *wire {
	r.t.Helper()
	i := len(r.order)
	p := netip.MustParsePrefix(prefix)
	opt.MAC = [6]byte{2, 0, 0, 0, 1, byte(i)}
	port, far := ringtest.NewWire(r.t, name, region, opt)
	if h != nil {
		port.SetHost(h)
	}
	port.SetEvents(r.dp.Events(i))
	w := &wire{Wire: far, r: r, index: i, name: name, port: port, mac: opt.MAC, addr: p.Addr(), arp: true,
		far: packet.MAC{2, 0, 0, 0, 2, byte(i)}, host: h}
	mtu := opt.MTU
	if mtu == 0 {
		mtu = 1500
	}
	if err := r.dp.AddPort(i, name, port, mtu, []netip.Prefix{p}); err != nil {
		r.t.Fatal(err)
	}
	r.wires[name], r.order = w, append(r.order, w)
	r.route(p.Masked().String(), fib.NextHop{Action: fib.ActionGlean, Port: uint16(i)})
	r.route(p.Addr().String()+"/32", fib.NextHop{Action: fib.ActionLocal})
	return w
}

// route points a prefix to next hops.
func (r *router) route(prefix string, hops ...fib.NextHop) uint16 {
	r.t.Helper()
	var members []uint16
	for _, h := range hops {
		i, err := r.fib.writer.AcquireNextHop(h)
		if err != nil {
			r.t.Fatal(err)
		}
		members = append(members, i)
	}
	g, err := r.fib.writer.NewGroup(members)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, i := range members {
		r.fib.writer.ReleaseNextHop(i)
	}
	r.groups = append(r.groups, g)
	if err := r.fib.writer.Set(netip.MustParsePrefix(prefix), g); err != nil {
		r.t.Fatal(err)
	}
	r.routes[netip.MustParsePrefix(prefix)] = true
	return g
}

func via(w *wire, gateway string) fib.NextHop {
	return fib.NextHop{Action: fib.ActionForward, Port: uint16(w.index), Gateway: netip.MustParseAddr(gateway)}
}

// settle lets everything run until nothing moves, and returns what came out of each wire,
// without the ARP that the neighbourhood has answered.
func (r *router) settle() map[string][][]byte {
	r.t.Helper()
	out := make(map[string][][]byte)
	for quiet := 0; quiet < 3; quiet++ {
		for _, w := range r.order {
			if w.port == nil {
				continue
			}
			for q := range w.Port.Queues() {
				if err := w.Port.TxSync(q); err != nil {
					r.t.Fatal(err)
				}
			}
		}
		for i := range r.state.Identity().Workers {
			if r.dp.Worker(i).Round() > 0 {
				quiet = 0
			}
		}
		if _, more := r.dp.Step(r.now); more {
			quiet = 0
		}
		for _, w := range r.order {
			if w.port == nil {
				continue
			}
			for q := range w.Port.Queues() {
				for _, f := range w.Receive(q) {
					quiet = 0
					if !w.answer(q, f) {
						out[w.name] = append(out[w.name], f)
					}
				}
			}
		}
	}
	r.balanced()
	return out
}

// answer answers a frame when it is an ARP request that the neighbourhood answers.
func (w *wire) answer(q int, frame []byte) bool {
	a, err := packet.ParseARP(frame[packet.EthernetLen:])
	if packet.Ethernet(frame).Type() != packet.TypeARP || err != nil || a.Op() != packet.ARPRequest || !w.arp {
		return false
	}
	w.TrySend(q, arpFrame(packet.ARPReply, w.far, a.TargetIP(), a.SenderMAC(), a.SenderIP()))
	return true
}

func arpFrame(op uint16, sender packet.MAC, senderIP uint32, target packet.MAC, targetIP uint32) []byte {
	f := make([]byte, 60)
	dst := target
	if op == packet.ARPRequest {
		dst, target = packet.Broadcast, packet.MAC{}
	}
	packet.Ethernet(f).Encode(dst, sender, packet.TypeARP)
	packet.ARP(f[packet.EthernetLen:]).Encode(op, sender, senderIP, target, targetIP)
	return f
}

// pass lets time go by, in steps of a quarter second.
func (r *router) pass(d time.Duration) map[string][][]byte {
	r.t.Helper()
	all := make(map[string][][]byte)
	for end := r.now.Add(d); r.now.Before(end); {
		r.now = r.now.Add(min(250*time.Millisecond, end.Sub(r.now)))
		for name, frames := range r.settle() {
			all[name] = append(all[name], frames...)
		}
	}
	return all
}

// balanced says that every frame is accounted for.
func (r *router) balanced() {
	r.t.Helper()
	_, held := r.dp.Held()
	total := r.state.Total()
	if workers, slow := total.Balance(); workers != 0 || slow != int64(held) {
		r.t.Errorf("books: workers are out by %d, the slow path by %d with %d held", workers, slow, held)
	}
	if taken := total.Slow.Taken; taken != total.AllPunts() {
		r.t.Errorf("books: %d punted, %d taken", total.AllPunts(), taken)
	}
	for i := range r.state.Identity().Workers {
		c := r.state.Worker(i)
		if workers, _ := c.Balance(); workers != 0 {
			r.t.Errorf("books of worker %d are out by %d", i, workers)
		}
	}
}

func (r *router) drops(reason dataplane.DropReason) uint64 {
	c := r.state.Total()
	return c.Drops(reason)
}
