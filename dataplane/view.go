package dataplane

import (
	"sync"

	"routerd/nmring"
)

// view is what one worker sees of the ports: its receive rings, and the transmit ring it
// uses on each port. A view does not change; a new one takes its place.
type view struct {
	receives  []*receive
	transmits [MaxPorts]*transmit
	fds       []int // to wait on for received frames
	spins     bool  // a ring has nothing to wait on
}

// receive is a receive ring. It belongs to one worker.
type receive struct {
	port  nmring.Port
	ring  *nmring.Ring
	queue int
	index int    // of the port
	mac   uint64 // the port's address in the upper 6 bytes, as a load gives it
	host  bool   // the port leads to the host
	chain uint16 // MoreFrag: the last slot's frame goes on in the next slot
}

// transmit is a transmit ring. Where a port has fewer queues than there are workers, it
// has a lock, under which each of its workers finds the ring synced and leaves it so.
type transmit struct {
	port  nmring.Port
	ring  *nmring.Ring
	queue int
	lock  *sync.Mutex
}

// newView is the view of worker w of the workers of the given ports.
func newView(w int, ports []*port) *view {
	v := &view{}
	for _, p := range ports {
		v.transmits[p.index] = p.transmits[w%len(p.transmits)]
		for q := w; q < len(p.receives); q += p.workers {
			r := p.receives[q]
			v.receives = append(v.receives, r)
			if fd := r.port.PollFD(r.queue); fd >= 0 {
				v.fds = append(v.fds, fd)
			} else {
				v.spins = true
			}
		}
	}
	return v
}
