package dataplane

import (
	"fmt"
	"sync/atomic"

	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
)

// Batch is the number of frames that a worker takes from a ring in a round, at most, where
// Options do not say otherwise: deep enough for the table's cache misses to overlap, small
// enough for the headers to stay in the first-level cache until the third pass. MaxBatch is
// the largest that Options may ask for.
const (
	Batch    = 128
	MaxBatch = 256
)

// idleRounds is how many empty rounds make an adaptive worker block.
const idleRounds = 256

// How long a blocked worker waits, in milliseconds: with nothing to do but receive, and
// while it has to look after a ring that cannot wake it.
const (
	waitIdle    = 100
	waitPending = 1
)

// Waiter blocks a worker until a descriptor is readable, somebody calls Wake, or the
// timeout has passed. Wake may be called from any goroutine, also before Wait.
type Waiter interface {
	Wait(fds []int, timeoutMillis int)
	Wake()
}

// Worker moves packets. It is one thread; its methods belong to one goroutine.
type Worker struct {
	id     int
	batch  uint32 // most frames that are taken from a ring in a round
	table  *fib.Table
	state  *State
	gleans *gleans
	view   atomic.Pointer[view]
	waiter Waiter
	asleep atomic.Bool

	punts   [classes]*frameRing // to the slow path
	injects *frameRing          // from it
	slow    *bell               // rung after punts
	faults  *faults

	// The packets of a batch, by number.
	place  [MaxBatch]uintptr // of the frame in the region
	slot   [MaxBatch]uint32
	length [MaxBatch]uint32 // of the frame as it came; after the first pass as it will leave
	dst    [MaxBatch]uint32
	group  [MaxBatch]uint16
	odds   [MaxBatch]uint32 // slots of frames that need a longer look
	oddity int              // how many

	later     [MaxBatch]deferred // packets for transmit rings with a lock
	laters    int
	laterTo   uint64 // bit for each port in later
	serial    uint64 // number of the batch
	sends     [MaxPorts]sending
	dirty     uint64 // ports in sends whose ring waits for its sync
	pending   uint64 // ports whose ring had not sent everything at its last sync
	punted    [PuntCauses]uint64
	dropped   [DropReasons]uint64
	unsent    uint64 // ICMP errors that will not be, for want of room
	rang      bool   // something was punted this round
	rxPackets uint64
	rxBytes   uint64
}

// sending is where a worker stands in a transmit ring during a round: one cache line. With
// head equal to end there is no room, or none known of.
type sending struct {
	head, end      uint32
	ring           *nmring.Ring
	region         *nmring.Region
	packets, bytes uint64
	counted        uint32 // slots before this one are in packets
	synced         uint64 // serial of the last batch that synced for want of room
	_              uint64
}

// deferred is a packet, rewritten and still in its receive slot.
type deferred struct {
	at   uint32
	port uint8
}

// Round gives each receive ring one batch, sends what the slow path has injected, and
// syncs the transmit rings. It returns the number of frames it moved.
func (w *Worker) Round() int {
	w.state.enter(w.id)
	v := w.view.Load()
	n := 0
	for _, r := range v.receives {
		n += w.receive(v, r)
	}
	n += w.inject(v)
	w.transmit(v)
	w.state.leave(w.id)
	if n > 0 {
		rounds := &w.state.rounds[w.id].n
		rounds.Store(rounds.Load() + 1)
	}
	if w.rang {
		w.rang = false
		w.slow.ring()
	}
	return n
}

// receive forwards one batch of a ring: check and gather, look up, rewrite and move.
func (w *Worker) receive(v *view, r *receive) int {
	if err := r.port.RxSync(r.queue); err != nil {
		w.faults.record(r.index, err)
	}
	ring := r.ring
	head, n := ring.Head(), min(ring.Space(), w.batch)
	if n == 0 {
		return 0
	}
	w.serial++
	good := w.check(r, head, n)
	w.table.LookupBatch(w.dst[:good], w.group[:good])
	w.forward(v, r, good)
	if w.laters > 0 {
		w.sendLater(v, r)
	}
	ring.SetHead(ring.Add(head, n))
	w.count(r.index)
	return int(n)
}

// count moves the counts of a batch into the row of the port it came from.
func (w *Worker) count(port int) {
	row := &w.state.rows[w.id][port]
	row.add(cRxPackets, w.rxPackets)
	row.add(cRxBytes, w.rxBytes)
	w.rxPackets, w.rxBytes = 0, 0
	w.countExits(row)
}

// countExits moves punts and drops into a row.
func (w *Worker) countExits(row *row) {
	for i, n := range w.punted {
		if n != 0 {
			row.add(cPunted+counter(i), n)
			w.punted[i] = 0
		}
	}
	for i, n := range w.dropped {
		if n != 0 {
			row.add(cDropped+counter(i), n)
			w.dropped[i] = 0
		}
	}
	if w.unsent != 0 {
		row.add(cICMPSuppressed, w.unsent)
		w.unsent = 0
	}
}

// run repeats rounds until stop, blocking when idle where there is a waiter.
func (w *Worker) run(stop *atomic.Bool) {
	idle := 0
	for !stop.Load() {
		if w.Round() > 0 || w.waiter == nil {
			idle = 0
		} else if idle++; idle >= idleRounds {
			w.wait(stop)
			idle = 0
		}
	}
}

// wait blocks. Whoever gives the worker something does so first and looks at asleep then.
func (w *Worker) wait(stop *atomic.Bool) {
	w.asleep.Store(true)
	v := w.view.Load()
	if w.injects.empty() && !stop.Load() {
		timeout := waitIdle
		if v.spins || w.pending != 0 {
			timeout = waitPending
		}
		w.waiter.Wait(v.fds, timeout)
	}
	w.asleep.Store(false)
}

// wake makes a blocked worker look again.
func (w *Worker) wake() {
	if w.asleep.Load() && w.waiter != nil {
		w.waiter.Wake()
	}
}

func (w *Worker) String() string { return fmt.Sprintf("worker %d", w.id) }

// quotable is how much of a frame an ICMP error can quote (RFC 1812, 4.3.2.3).
const quotable = packet.EthernetLen + maxICMP - packet.IPv4Len - packet.ICMPLen

// punt gives the slow path a copy of a frame, or drops it.
func (w *Worker) punt(r *receive, cause PuntCause, frame []byte) {
	c := &puntCauses[cause]
	if c.terminal {
		frame = frame[:min(len(frame), quotable)]
	}
	if w.punts[c.class].push(note{cause: cause, port: uint8(r.index)}, frame) {
		w.punted[cause]++
		w.rang = true
		return
	}
	w.dropped[c.drop]++
	if c.terminal {
		w.unsent++
	}
}

// exception takes a packet whose adjacency does not simply send it.
func (w *Worker) exception(r *receive, at uint32, kind AdjacencyKind) {
	frame := r.ring.Frame(at)
	expired := packet.IPv4(frame[packet.EthernetLen:]).TTL() <= 1
	switch {
	case kind == AdjNoRoute:
		w.punt(r, PuntNoRoute, frame)
	case kind == AdjUnreachable:
		w.punt(r, PuntUnreachable, frame)
	case kind == AdjLocal && r.host:
		w.punt(r, PuntHost, frame)
	case kind == AdjLocal:
		w.dropped[DropNoHostPath]++
	case kind == AdjBlackhole:
		w.dropped[DropBlackhole]++
	case kind == AdjPortDown:
		w.dropped[DropPortDown]++
	case expired:
		w.punt(r, PuntTTL, frame)
	case kind == AdjUnresolved:
		w.punt(r, PuntResolve, frame)
	case kind == AdjFailed:
		w.punt(r, PuntNeighbor, frame)
	case kind == AdjGlean:
		w.punt(r, PuntGlean, frame)
	case packet.IPv4(frame[packet.EthernetLen:]).DontFragment():
		w.punt(r, PuntTooBig, frame)
	default:
		w.punt(r, PuntFragment, frame)
	}
}
