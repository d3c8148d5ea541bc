package dataplane

import (
	"errors"
	"log/slog"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
)

// What the slow path takes of a class before it looks at the more urgent classes again.
var chunk = [classes]int{classARP: 64, classNeighbor: 64, classHost: 64, classError: 16}

// stepFrames bounds what one Step takes, so that timers are never late by much.
const stepFrames = 4096

// slowPath does what workers do not. Step and the calls of the operator's side exclude
// each other by mu; the drivers' events come in through queues of their own.
type slowPath struct {
	mu      sync.Mutex
	table   *fib.Table
	state   *State
	gleans  *gleans
	log     *slog.Logger
	workers []*Worker
	bell    *bell
	faults  *faults

	now       time.Time
	ports     [MaxPorts]*port
	links     [MaxPorts]atomic.Int32 // link changes not yet taken: linkUp, linkDown
	overheard *inbox                 // ARP that the kernel got
	fromHost  *inbox                 // frames that the host sends

	hops        map[uint16]*hop
	neighbors   map[neighborKey]*neighbor
	unanswered  int // neighbours that are incomplete or failed, without those of next hops
	timers      timers
	held        int // packets that wait for neighbours
	heldTaken   int // those of them that came from workers
	frames      [][]byte
	icmpErrors  bucket
	identifier  uint16 // of IPv4 packets of our own
	serial      uint64 // of neighbours
	scratch     [packet.EthernetLen + maxICMP]byte
	fragments   packet.Fragments
	wakes       uint64 // workers that got frames
	lastWarning [MaxPorts]time.Time
}

const (
	linkDown int32 = 1 + iota
	linkUp
)

// bell wakes the slow path. Whoever rings has put something into a queue before.
type bell struct {
	asleep atomic.Bool
	c      chan struct{}
}

func (b *bell) ring() {
	if b.asleep.Load() {
		select {
		case b.c <- struct{}{}:
		default:
		}
	}
}

// inbox is a frame ring that any goroutine may push to.
type inbox struct {
	mu sync.Mutex
	*frameRing
}

func (b *inbox) put(n note, frame []byte) {
	b.mu.Lock()
	b.push(n, frame)
	b.mu.Unlock()
}

// faults keeps the first error of a port's rings until the slow path has seen it.
type faults struct {
	seen  atomic.Uint64
	ports [MaxPorts]atomic.Pointer[error]
	bell  *bell
}

func (f *faults) record(port int, err error) {
	if f.ports[port].Load() == nil {
		f.ports[port].Store(&err)
		f.seen.Or(1 << port)
		f.bell.ring()
	}
}

// traveller is a packet in the slow path.
type traveller struct {
	frame []byte // with its link-layer header; changed in place
	in    int    // port by which it came; of our own: by which the packet came that made it
	ours  bool   // made here, not taken from a worker
}

func (t traveller) ip() packet.IPv4 { return packet.IPv4(t.frame[packet.EthernetLen:]) }

// step takes what there is, up to a bound, and runs the timers that are due at now. It
// returns when the next timer is due (zero: none), and whether more waits.
func (s *slowPath) step(now time.Time) (next time.Time, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(now)
	s.takeLinks()
	s.takeFaults()
	left := stepFrames
	for left > 0 {
		n := s.takeSome()
		if n == 0 {
			break
		}
		left -= n
	}
	s.runTimers()
	s.end()
	return s.timers.next(), left <= 0
}

// begin opens a round of the slow path as a reader of the FIB, end closes it and wakes the
// workers that have got frames.
func (s *slowPath) begin(now time.Time) {
	s.now = now
	s.state.enter(slowRow)
}

func (s *slowPath) end() {
	s.state.leave(slowRow)
	for i, w := range s.workers {
		if s.wakes>>i&1 != 0 {
			w.wake()
		}
	}
	s.wakes = 0
}

// takeSome takes a chunk of the most urgent class that has something, and returns the
// number of frames.
func (s *slowPath) takeSome() int {
	n := 0
	for ; n < chunk[classARP]; n++ {
		note, frame, ok := s.overheard.peek()
		if !ok {
			break
		}
		if p := s.ports[note.port]; p != nil {
			s.arp(p, frame)
		}
		s.overheard.pop()
	}
	for c := range classes {
		if c == int(classHost) {
			n += s.takeFromHost()
		}
		for _, w := range s.workers {
			n += s.take(w.punts[c], chunk[c])
		}
		if n > 0 {
			return n
		}
	}
	return n
}

func (s *slowPath) take(ring *frameRing, most int) int {
	for n := range most {
		note, frame, ok := ring.peek()
		if !ok {
			return n
		}
		s.row(int(note.port)).add(cRxPackets, 1)
		s.punted(note.cause, traveller{frame: frame, in: int(note.port)})
		ring.pop()
	}
	return most
}

// takeFromHost sends what the host's stack sends.
func (s *slowPath) takeFromHost() int {
	for n := range chunk[classHost] {
		note, frame, ok := s.fromHost.peek()
		if !ok {
			return n
		}
		if p := s.ports[note.port]; p != nil && s.emit(p, frame) {
			s.row(p.index).add(cOriginated, 1)
		}
		s.fromHost.pop()
	}
	return chunk[classHost]
}

// punted takes one packet from a worker.
func (s *slowPath) punted(cause PuntCause, t traveller) {
	p := s.ports[t.in]
	switch {
	case p == nil:
		s.drop(t, DropPortDown)
	case cause == PuntARP:
		if s.arp(p, t.frame) {
			s.row(t.in).add(cConsumed, 1)
		} else {
			s.drop(t, DropARP)
		}
	case cause == PuntHost:
		s.deliver(p, t)
	case cause == PuntTTL:
		s.refuse(t, DropTTL, packet.ICMPTimeExceeded, packet.CodeTTLInTransit, 0)
	case cause == PuntNoRoute:
		s.refuse(t, DropNoRoute, packet.ICMPUnreachable, packet.CodeNet, 0)
	case cause == PuntUnreachable:
		s.refuse(t, DropUnreachable, packet.ICMPUnreachable, packet.CodeHost, 0)
	case cause == PuntNeighbor:
		s.refuse(t, DropNeighbor, packet.ICMPUnreachable, packet.CodeHost, 0)
	case cause == PuntOptions && sourceRouted(t.ip()):
		s.drop(t, DropSourceRoute)
	default:
		s.route(t)
	}
}

// deliver passes a frame up to the host.
func (s *slowPath) deliver(p *port, t traveller) {
	switch {
	case p.host == nil:
		s.drop(t, DropNoHostPath)
	case !p.host.Deliver(t.frame):
		s.drop(t, DropHostQueue)
	default:
		s.row(t.in).add(cConsumed, 1)
	}
}

// drop ends a packet of a worker under a reason; our own end without one.
func (s *slowPath) drop(t traveller, reason DropReason) {
	if !t.ours {
		s.row(t.in).add(cDropped+counter(reason), 1)
	}
}

// refuse drops a packet and tells its sender.
func (s *slowPath) refuse(t traveller, reason DropReason, kind, code uint8, mtu int) {
	s.drop(t, reason)
	if !t.ours {
		s.icmpError(t, kind, code, mtu)
	}
}

// emit hands a frame to the worker that sends for the slow path on a port; it reports
// false when that has no room.
func (s *slowPath) emit(p *port, frame []byte) bool {
	w := p.sender()
	if !s.workers[w].injects.push(note{port: uint8(p.index)}, frame) {
		return false
	}
	s.wakes |= 1 << w
	return true
}

func (s *slowPath) row(port int) *row { return &s.state.rows[slowRow][port] }

// takeLinks follows link changes, takeFaults the errors of rings.
func (s *slowPath) takeLinks() {
	for i := range s.links {
		if s.links[i].Load() == 0 {
			continue
		}
		if to := s.links[i].Swap(0); s.ports[i] != nil {
			s.setLink(s.ports[i], to == linkUp)
		}
	}
}

func (s *slowPath) takeFaults() {
	for seen := s.faults.seen.Swap(0); seen != 0; seen &= seen - 1 {
		i := bits.TrailingZeros64(seen)
		p, fault := s.ports[i], s.faults.ports[i].Load()
		if p == nil || fault == nil {
			continue
		}
		s.log.Warn("port does not sync its rings", "port", p.name, "error", *fault)
		if errors.Is(*fault, nmring.ErrGone) {
			s.setLink(p, false)
		}
	}
}
