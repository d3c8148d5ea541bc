package dataplane

import (
	"net/netip"
	"slices"
	"time"

	"routerd/dataplane/packet"
)

// NeighborState is a neighbour's by RFC 4861, 7.3.2, and Failed for one that did not
// answer: a while later it is asked again.
type NeighborState uint8

const (
	Incomplete NeighborState = iota
	Reachable
	Stale
	Delay
	Probe
	Failed
)

func (s NeighborState) String() string {
	return [...]string{"incomplete", "reachable", "stale", "delay", "probe", "failed"}[s]
}

// Times and bounds of neighbours. Where RFC 4861 has a name it is beside.
const (
	retransTime   = time.Second // RETRANS_TIMER
	maxSolicits   = 3           // MAX_MULTICAST_SOLICIT, MAX_UNICAST_SOLICIT
	failedTime    = 3 * time.Second
	reachableTime = 30 * time.Second // REACHABLE_TIME
	delayTime     = 5 * time.Second  // DELAY_FIRST_PROBE_TIME
	lookTime      = 2 * time.Second  // how often a stale entry is looked at for use
	staleTime     = 20 * time.Minute // an unused entry goes

	maxUnanswered    = 1024 // incomplete and failed entries that no next hop names
	maxHeldPackets   = 1024 // of all neighbours
	maxHeldEach      = 8
	heldFrameDefault = 2048 // bytes
)

type neighborKey struct {
	port int
	addr uint32
}

// neighbor is a station, or the search for one. It has a MAC in all states but Incomplete
// and Failed; then its adjacencies are ready.
type neighbor struct {
	key       neighborKey
	state     NeighborState
	mac       packet.MAC
	asked     int // solicitations in this state
	hops      []uint16
	glean     bool // it has a slot in gleans
	held      []traveller
	dropped   uint64
	confirmed time.Time
	used      time.Time

	deadline time.Time
	timer    int // place in timers, -1: none
	serial   uint64
}

func (n *neighbor) resolved() bool { return n.state != Incomplete && n.state != Failed }

// pinned says that a next hop names the neighbour: it is kept, and kept confirmed.
func (n *neighbor) pinned() bool { return len(n.hops) > 0 }

// toNeighbor sends a packet to the neighbour that is its destination, which may be new.
func (s *slowPath) toNeighbor(t traveller, out *port, dst uint32) {
	n := s.neighbors[neighborKey{out.index, dst}]
	if n == nil {
		if s.unanswered >= maxUnanswered {
			s.drop(t, DropNeighborTable)
			return
		}
		n = s.newNeighbor(neighborKey{out.index, dst})
		s.unanswered++
		s.resolve(n)
	}
	if n.resolved() {
		s.forward(t, out, n.mac)
		return
	}
	s.wait(t, n)
}

func (s *slowPath) newNeighbor(key neighborKey) *neighbor {
	s.serial++
	n := &neighbor{key: key, timer: -1, serial: s.serial}
	s.neighbors[key] = n
	return n
}

// wait holds a packet until the neighbour has answered.
func (s *slowPath) wait(t traveller, n *neighbor) {
	switch {
	case n.state == Failed:
		n.dropped++
		s.refuse(t, DropNeighbor, packet.ICMPUnreachable, packet.CodeHost, 0)
		return
	case len(n.held) >= maxHeldEach || s.held >= maxHeldPackets:
		n.dropped++
		s.drop(t, DropNeighborQueue)
		return
	}
	s.held++
	if !t.ours {
		s.heldTaken++
	}
	t.frame = append(s.frameBuffer(), t.frame...)
	n.held = append(n.held, t)
}

// frameBuffer takes a buffer for a held packet from those used before.
func (s *slowPath) frameBuffer() []byte {
	if last := len(s.frames) - 1; last >= 0 {
		b := s.frames[last]
		s.frames = s.frames[:last]
		return b
	}
	return make([]byte, 0, heldFrameDefault)
}

// release ends the wait of all packets of a neighbour, in order.
func (s *slowPath) release(n *neighbor, end func(traveller)) {
	held := n.held
	n.held = nil
	for _, t := range held {
		s.held--
		if !t.ours {
			s.heldTaken--
		}
		end(t)
		s.frames = append(s.frames, t.frame[:0])
	}
}

// setState moves a neighbour on and counts it among the unanswered ones or not.
func (s *slowPath) setState(n *neighbor, to NeighborState, next time.Duration) {
	before, after := !n.resolved(), to == Incomplete || to == Failed
	n.state, n.asked = to, 0
	if !n.pinned() && before != after {
		if after {
			s.unanswered++
		} else {
			s.unanswered--
		}
	}
	s.timers.set(n, s.now.Add(next))
}

// resolve starts the search for a neighbour's MAC.
func (s *slowPath) resolve(n *neighbor) {
	s.setState(n, Incomplete, retransTime)
	s.ask(n)
	s.uninstall(n, AdjUnresolved)
}

func (s *slowPath) ask(n *neighbor) {
	n.asked++
	s.solicit(n)
	s.timers.set(n, s.now.Add(retransTime))
}

// hear takes a MAC from an ARP frame of the neighbour; solicited says it answers us.
func (s *slowPath) hear(n *neighbor, mac packet.MAC, solicited bool) {
	asked := n.state == Incomplete || n.state == Probe
	isNew := !n.resolved() || n.mac != mac
	if isNew && n.resolved() {
		s.log.Info("neighbor moved", "port", s.ports[n.key.port].name, "address", packet.Addr(n.key.addr), "from", n.mac, "to", mac)
	}
	n.mac = mac
	switch {
	case solicited && asked:
		n.confirmed = s.now
		s.setState(n, Reachable, reachableTime)
	case isNew:
		n.used = s.now
		s.setState(n, Stale, lookTime)
	}
	if isNew {
		s.install(n)
	}
}

// install makes the adjacencies of a resolved neighbour ready and sends what it held.
func (s *slowPath) install(n *neighbor) {
	p := s.ports[n.key.port]
	ready := func(a *adjacency) { a.setReady(n.mac, p.mac, p.index, p.mtu) }
	for _, i := range n.hops {
		ready(&s.state.adj[i])
	}
	if slot, _ := s.gleans.find(n.key.addr, n.key.port); slot != nil {
		ready(&slot.adjacency)
	} else if _, err := s.gleans.insert(n.key.addr, n.key.port, ready); err == nil {
		n.glean = true
	} else if !n.pinned() {
		s.release(n, func(t traveller) { s.drop(t, DropNeighborTable) })
		s.forget(n)
		return
	}
	s.release(n, func(t traveller) { s.forward(t, p, n.mac) })
}

// uninstall takes a neighbour out of the workers' sight; packets of its next hops meet kind.
func (s *slowPath) uninstall(n *neighbor, kind AdjacencyKind) {
	mtu := 0
	if p := s.ports[n.key.port]; p != nil {
		mtu = p.mtu
	}
	for _, i := range n.hops {
		s.state.adj[i].setKind(kind, n.key.port, mtu)
	}
	if n.glean {
		s.gleans.remove(n.key.addr, n.key.port)
		n.glean = false
	}
}

// forget removes a neighbour that holds no packets.
func (s *slowPath) forget(n *neighbor) {
	if !n.resolved() && !n.pinned() {
		s.unanswered--
	}
	s.uninstall(n, AdjPortDown)
	s.timers.stop(n)
	delete(s.neighbors, n.key)
}

// fail gives up a search.
func (s *slowPath) fail(n *neighbor) {
	s.setState(n, Failed, failedTime)
	s.uninstall(n, AdjFailed)
	s.release(n, func(t traveller) {
		n.dropped++
		s.refuse(t, DropNeighbor, packet.ICMPUnreachable, packet.CodeHost, 0)
	})
}

// wasUsed says whether packets have been sent to the neighbour since it was called last.
func (s *slowPath) wasUsed(n *neighbor) bool {
	used := uint32(0)
	for _, i := range n.hops {
		used |= s.state.adj[i].used.Swap(0)
	}
	if slot, _ := s.gleans.find(n.key.addr, n.key.port); slot != nil {
		used |= slot.adjacency.used.Swap(0)
	}
	if used != 0 {
		n.used = s.now
	}
	return used != 0
}

// runTimers moves on the neighbours whose time has come.
func (s *slowPath) runTimers() {
	for len(s.timers) > 0 && !s.timers[0].deadline.After(s.now) {
		s.expire(s.timers[0])
	}
}

func (s *slowPath) expire(n *neighbor) {
	s.dropDeadHops(n)
	used := s.wasUsed(n)
	switch n.state {
	case Incomplete:
		if n.asked < maxSolicits {
			s.ask(n)
		} else {
			s.fail(n)
		}
	case Failed:
		if n.pinned() {
			s.resolve(n)
		} else {
			s.forget(n)
		}
	case Reachable:
		if n.pinned() {
			s.probe(n)
		} else {
			s.setState(n, Stale, lookTime)
		}
	case Stale:
		switch {
		case used || n.pinned():
			s.setState(n, Delay, delayTime)
		case s.now.Sub(n.used) >= staleTime && s.now.Sub(n.confirmed) >= staleTime:
			s.forget(n)
		default:
			s.timers.set(n, s.now.Add(lookTime))
		}
	case Delay:
		s.probe(n)
	case Probe:
		switch {
		case n.asked < maxSolicits:
			s.ask(n)
		case n.pinned():
			s.resolve(n)
		default:
			s.forget(n)
		}
	}
}

func (s *slowPath) probe(n *neighbor) {
	s.setState(n, Probe, retransTime)
	s.ask(n)
}

// NeighborInfo is a neighbour as `show neighbor` prints it.
type NeighborInfo struct {
	Port      int
	PortName  string
	Address   netip.Addr
	MAC       packet.MAC // zero while it is not known
	State     NeighborState
	Gateway   bool      // a next hop of the FIB names it
	Confirmed time.Time // last answer to a request of ours
	Used      time.Time // last known use, within 30 s
	Held      int       // packets that wait for it
	Dropped   uint64    // packets that waited in vain
}

func (s *slowPath) snapshot() []NeighborInfo {
	all := make([]NeighborInfo, 0, len(s.neighbors))
	for _, n := range s.neighbors {
		i := NeighborInfo{Port: n.key.port, Address: packet.Addr(n.key.addr), State: n.state, Gateway: n.pinned(),
			Confirmed: n.confirmed, Used: n.used, Held: len(n.held), Dropped: n.dropped}
		if p := s.ports[n.key.port]; p != nil {
			i.PortName = p.name
		}
		if n.resolved() {
			i.MAC = n.mac
		}
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b NeighborInfo) int {
		if a.Port != b.Port {
			return a.Port - b.Port
		}
		return a.Address.Compare(b.Address)
	})
	return all
}
