package dataplane

// Counters are totals of a port, a worker, or both.
type Counters struct {
	RxPackets, RxBytes uint64
	TxPackets, TxBytes uint64 // all that left, with Injected
	Injected           uint64 // of what workers sent or dropped: frames from the slow path
	Punted             [PuntCauses]uint64
	Dropped            [DropReasons]uint64 // by the port of arrival; frames from the slow path by the port of departure

	ICMPSent, ICMPSuppressed uint64 // errors about packets that arrived here
	Slow                     SlowCounters
}

// SlowCounters are what became of the frames that the slow path took.
type SlowCounters struct {
	Taken      uint64
	Forwarded  uint64
	Consumed   uint64
	Originated uint64 // ARP, ICMP, and frames of the host; not part of Taken
	Dropped    [DropReasons]uint64
}

func (c *Counters) addWorker(r *row) {
	c.RxPackets += r[cRxPackets].Load()
	c.RxBytes += r[cRxBytes].Load()
	c.TxPackets += r[cTxPackets].Load()
	c.TxBytes += r[cTxBytes].Load()
	c.Injected += r[cInjected].Load()
	c.ICMPSuppressed += r[cICMPSuppressed].Load()
	for i := range c.Punted {
		c.Punted[i] += r[cPunted+i].Load()
	}
	for i := range c.Dropped {
		c.Dropped[i] += r[cDropped+i].Load()
	}
}

func (c *Counters) addSlow(r *row) {
	c.Slow.Taken += r[cRxPackets].Load()
	c.Slow.Forwarded += r[cTxPackets].Load()
	c.Slow.Consumed += r[cConsumed].Load()
	c.Slow.Originated += r[cOriginated].Load()
	c.ICMPSent += r[cICMPSent].Load()
	c.ICMPSuppressed += r[cICMPSuppressed].Load()
	for i := range c.Slow.Dropped {
		c.Slow.Dropped[i] += r[cDropped+i].Load()
	}
}

// Port are the totals of port p over all workers and the slow path.
func (s *State) Port(p int) Counters {
	var c Counters
	for w := range int(s.h.workers) {
		c.addWorker(&s.rows[w][p])
	}
	c.addSlow(&s.rows[slowRow][p])
	return c
}

// WorkerPort are the totals of port p in worker w, which are those of queue w of the port
// unless the port has more queues than there are workers.
func (s *State) WorkerPort(w, p int) Counters {
	var c Counters
	c.addWorker(&s.rows[w][p])
	return c
}

// Worker are the totals of worker w over all ports.
func (s *State) Worker(w int) Counters {
	var c Counters
	for p := range MaxPorts {
		c.addWorker(&s.rows[w][p])
	}
	return c
}

// Total are the totals of everything.
func (s *State) Total() Counters {
	var c Counters
	for p := range MaxPorts {
		for w := range int(s.h.workers) {
			c.addWorker(&s.rows[w][p])
		}
		c.addSlow(&s.rows[slowRow][p])
	}
	return c
}

// Rounds tells how many rounds worker w has run, and how many of them found packets.
func (s *State) Rounds(w int) (all, busy uint64) {
	return s.epochs[w].n.Load() / 2, s.rounds[w].n.Load()
}

// Drops is the number of packets that were dropped under reason r, by workers and by the
// slow path.
func (c *Counters) Drops(r DropReason) uint64 { return c.Dropped[r] + c.Slow.Dropped[r] }

// AllDrops is the number of packets that were dropped.
func (c *Counters) AllDrops() uint64 { return sum(c.Dropped[:]) + sum(c.Slow.Dropped[:]) }

// AllPunts is the number of packets that workers gave to the slow path.
func (c *Counters) AllPunts() uint64 { return sum(c.Punted[:]) }

// Balance is what the books of the workers and of the slow path are out by: the frames
// that entered less those whose end is known. On quiet ports the workers' is 0 in
// State.Worker and State.Total, and in Total the slow path's is the number of punted
// packets that it holds for neighbours.
func (c *Counters) Balance() (workers, slow int64) {
	workers = int64(c.RxPackets + c.Injected - c.TxPackets - c.AllPunts() - sum(c.Dropped[:]))
	slow = int64(c.Slow.Taken - c.Slow.Forwarded - c.Slow.Consumed - sum(c.Slow.Dropped[:]))
	return workers, slow
}

func sum(of []uint64) uint64 {
	var n uint64
	for _, v := range of {
		n += v
	}
	return n
}
