package dataplane

import (
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"routerd/fib"
)

// Limits of the state segment.
const (
	MaxPorts   = 64
	MaxWorkers = 64
)

// slowRow is the row of the slow path behind those of the workers.
const slowRow = MaxWorkers

// ErrState says that memory is not a state segment of this version.
var ErrState = errors.New("not a state segment of this version of routerd")

// State is what the forwarding process shows to others: who it is, the quiet points of its
// readers of the FIB, its counters and its adjacencies. It stands in memory that the
// forwarding process writes and others map read-only; all values are read whole, but not
// all at one moment.
type State struct {
	memory []byte
	h      *stateHeader
	epochs *[MaxWorkers + 1]epoch
	rounds *[MaxWorkers]busyRounds
	rows   *[MaxWorkers + 1][MaxPorts]row
	adj    *[fib.MaxNextHops]adjacency
}

const (
	stateMagic   = 0x726f75746572_5354
	stateVersion = 1
)

type stateHeader struct {
	magic, version, size uint64
	pid, workers         uint64
	start                int64 // Unix nanoseconds
	boot                 [16]byte
}

// epoch is even outside a round and odd inside.
type epoch struct {
	n atomic.Uint64
	_ [56]byte
}

// busyRounds counts the rounds that moved packets.
type busyRounds struct {
	n atomic.Uint64
	_ [56]byte
}

// counter is an index into a row.
type counter uint8

// The counters of one worker and port. Arrived and left say which port a row is of: that
// by which the packet came, or by which it went.
const (
	cRxPackets      counter = iota // arrived; in the slow path's row: taken from the workers
	cRxBytes                       // arrived
	cTxPackets                     // left; in the slow path's row: handed to a worker to be forwarded
	cTxBytes                       // left
	cInjected                      // left: taken from the slow path, to be sent
	cConsumed                      // arrived: the slow path was their end (ARP, host)
	cOriginated                    // left: made by the slow path or the host
	cICMPSent                      // arrived: answered by an ICMP error
	cICMPSuppressed                // arrived: not answered because of the rate limit
	cPunted         = 16
	cDropped        = 32
	rowCounters     = 96
)

type row [rowCounters]atomic.Uint64

// add adds to a counter that only the caller writes.
func (r *row) add(c counter, n uint64) { r[c].Store(r[c].Load() + n) }

// Identity says which forwarding process a state belongs to.
type Identity struct {
	PID     int
	Workers int // 1..MaxWorkers
	Start   time.Time
	Boot    [16]byte // random, new at each start
}

// FormatState makes a fresh (zeroed) segment of at least StateSize bytes a state.
func FormatState(memory []byte, id Identity) (*State, error) {
	if id.Workers < 1 || id.Workers > MaxWorkers {
		return nil, fmt.Errorf("state segment: %d workers: 1 to %d are possible", id.Workers, MaxWorkers)
	}
	s, err := viewState(memory)
	if err != nil {
		return nil, err
	}
	*s.h = stateHeader{version: stateVersion, size: uint64(StateSize()), pid: uint64(id.PID),
		workers: uint64(id.Workers), start: id.Start.UnixNano(), boot: id.Boot}
	s.h.magic = stateMagic
	return s, nil
}

// OpenState views the state of a forwarding process, which may be mapped read-only. The
// error is ErrState and says what is wrong and what to do.
func OpenState(memory []byte) (*State, error) {
	s, err := viewState(memory)
	if err != nil {
		return nil, err
	}
	switch h := s.h; {
	case h.magic != stateMagic:
		return nil, fmt.Errorf("%w: magic %#x is not %#x: restart routerd", ErrState, h.magic, uint64(stateMagic))
	case h.version != stateVersion || h.size != uint64(StateSize()):
		return nil, fmt.Errorf("%w: version %d of %d bytes, this is version %d of %d bytes: restart the forwarding process",
			ErrState, h.version, h.size, stateVersion, StateSize())
	case h.workers < 1 || h.workers > MaxWorkers:
		return nil, fmt.Errorf("%w: %d workers, 1 to %d are possible: restart the forwarding process", ErrState, h.workers, MaxWorkers)
	}
	return s, nil
}

// Identity says whose state it is.
func (s *State) Identity() Identity {
	return Identity{PID: int(s.h.pid), Workers: int(s.h.workers), Start: time.Unix(0, s.h.start), Boot: s.h.boot}
}

func (id Identity) String() string {
	return fmt.Sprintf("pid %d, %d workers, instance %s", id.PID, id.Workers, hex.EncodeToString(id.Boot[:4]))
}

// Epochs are the quiet points of the workers and the slow path.
func (s *State) Epochs() fib.Epochs { return quiet{s} }

type quiet struct{ s *State }

// Snapshot is fib.Epochs'.
func (q quiet) Snapshot(dst []uint64) []uint64 {
	dst = dst[:0]
	for i := range q.s.epochs {
		dst = append(dst, q.s.epochs[i].n.Load())
	}
	return dst
}

// Passed is fib.Epochs'.
func (q quiet) Passed(snapshot []uint64) bool {
	for i, n := range snapshot {
		if n&1 != 0 && q.s.epochs[i].n.Load() == n {
			return false
		}
	}
	return true
}

// enter begins a round of reader r, leave ends it. The store is an exchange: it is seen
// before the reader's first load from the FIB.
func (s *State) enter(r int) { s.epochs[r].n.Add(1) }
func (s *State) leave(r int) { s.epochs[r].n.Add(1) }
