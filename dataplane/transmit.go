package dataplane

import (
	"math/bits"

	"routerd/nmring"
)

// room makes room for one more frame in the transmit ring of a port that seems to have
// none: at its first frame of a round, or when it is full. It reports false when the
// packet in slot at of the receive ring has been dropped, or put off to sendLater.
func (w *Worker) room(t *transmit, port int, at uint32) bool {
	if t == nil {
		return w.drop(DropPortDown)
	}
	if t.lock != nil {
		w.later[w.laters] = deferred{at: at, port: uint8(port)}
		w.laters++
		w.laterTo |= 1 << port
		return false
	}
	if w.refill(t, port) {
		return true
	}
	return w.drop(DropTxFull)
}

// refill learns how much room a ring has, and syncs it once a batch if that is none.
func (w *Worker) refill(t *transmit, port int) bool {
	send := &w.sends[port]
	if w.dirty>>port&1 == 0 {
		w.dirty |= 1 << port
		send.begin(t.ring)
	}
	if send.head == send.end && send.synced != w.serial {
		send.synced = w.serial
		w.sync(t, port)
		send.end = t.ring.Tail()
	}
	return send.head != send.end
}

// begin takes over a ring as the driver has left it.
func (s *sending) begin(ring *nmring.Ring) {
	if s.ring != ring {
		s.ring, s.region = ring, ring.Region()
	}
	s.head, s.end = ring.Head(), ring.Tail()
	s.counted = s.head
}

// close makes the next packet look at the ring again.
func (s *sending) close() { s.end = s.head }

// advance moves on after a frame has been put into the slot at head.
func (s *sending) advance(length uint64) {
	s.head = s.ring.Next(s.head)
	s.bytes += length
}

// sync hands the driver what a ring has got this round.
func (w *Worker) sync(t *transmit, port int) {
	send := &w.sends[port]
	send.packets += uint64(t.ring.Distance(send.counted, send.head))
	send.counted = send.head
	t.ring.SetHead(send.head)
	if err := t.port.TxSync(t.queue); err != nil {
		w.faults.record(port, err)
	}
}

// transmit syncs all rings that have got frames, and those with frames that had not left.
func (w *Worker) transmit(v *view) {
	for set := w.dirty | w.pending; set != 0; set &= set - 1 {
		port := bits.TrailingZeros64(set)
		w.flush(v.transmits[port], port)
		w.countSent(port)
		w.sends[port].close()
	}
	w.dirty = 0
}

// flush syncs a ring, and remembers it when frames stay behind.
func (w *Worker) flush(t *transmit, port int) {
	w.pending &^= 1 << port
	if t == nil {
		return
	}
	if t.lock != nil {
		t.lock.Lock()
		defer t.lock.Unlock()
	}
	if w.dirty>>port&1 == 0 {
		w.sends[port].begin(t.ring)
	}
	w.sync(t, port)
	w.remember(t, port)
}

// remember marks a ring that still holds frames after its sync.
func (w *Worker) remember(t *transmit, port int) {
	if t.ring.Space() < t.ring.Slots()-1 {
		w.pending |= 1 << port
	}
}

func (w *Worker) countSent(port int) {
	send := &w.sends[port]
	if send.packets == 0 {
		return
	}
	row := &w.state.rows[w.id][port]
	row.add(cTxPackets, send.packets)
	row.add(cTxBytes, send.bytes)
	send.packets, send.bytes = 0, 0
}

// sendLater moves the packets of the batch that go to rings with a lock, one ring at a
// time, so that no worker holds one lock while it waits for another.
func (w *Worker) sendLater(v *view, r *receive) {
	for set := w.laterTo; set != 0; set &= set - 1 {
		port := bits.TrailingZeros64(set)
		t, send := v.transmits[port], &w.sends[port]
		t.lock.Lock()
		for _, d := range w.later[:w.laters] {
			if int(d.port) != port {
				continue
			}
			s := r.ring.Slot(d.at)
			length := uint64(s.Len)
			switch {
			case send.head == send.end && !w.refill(t, port):
				w.drop(DropTxFull)
			case !nmring.Move(r.ring, s, t.ring, t.ring.Slot(send.head)):
				w.drop(DropTxBuffer)
			default:
				send.advance(length)
			}
		}
		w.closeLocked(t, port)
	}
	w.laters, w.laterTo = 0, 0
}

// closeLocked leaves a ring with a lock as the next worker expects it.
func (w *Worker) closeLocked(t *transmit, port int) {
	w.sync(t, port)
	w.remember(t, port)
	t.lock.Unlock()
	w.dirty &^= 1 << port
	w.sends[port].close()
	w.countSent(port)
}

// inject sends frames of the slow path, at most one batch.
func (w *Worker) inject(v *view) int {
	n := 0
	w.serial++
	for ; n < Batch; n++ {
		note, frame, ok := w.injects.peek()
		if !ok {
			break
		}
		w.send(v, int(note.port), frame)
		w.injects.pop()
		row := &w.state.rows[w.id][note.port]
		row.add(cInjected, 1)
		w.countExits(row)
	}
	return n
}

// send puts one frame into the transmit ring of a port.
func (w *Worker) send(v *view, port int, frame []byte) {
	t, send := v.transmits[port], &w.sends[port]
	if t == nil {
		w.drop(DropPortDown)
		return
	}
	if t.lock != nil {
		t.lock.Lock()
	}
	switch {
	case send.head == send.end && !w.refill(t, port):
		w.drop(DropTxFull)
	case !nmring.Put(t.ring, t.ring.Slot(send.head), frame):
		w.drop(DropTxBuffer)
	default:
		send.advance(uint64(len(frame)))
	}
	if t.lock != nil {
		w.closeLocked(t, port)
	}
}
