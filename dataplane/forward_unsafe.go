package dataplane

import (
	"math/bits"
	"unsafe"

	"routerd/dataplane/packet"
	"routerd/nmring"
)

// Where the fields stand in a frame.
const (
	atType        = 12
	atIP          = packet.EthernetLen
	atTotal       = atIP + 2
	atFragment    = atIP + 6
	atTTL         = atIP + 8
	atSource      = atIP + 12
	atDestination = atIP + 16
	atPorts       = atIP + packet.IPv4Len

	shortest = packet.EthernetLen + packet.IPv4Len

	typeVersion = 0x45_0008 // EtherType IPv4, version 4, header of 5 words, little-endian
)

func load8(p unsafe.Pointer, at uintptr) uint8   { return *(*uint8)(unsafe.Add(p, at)) }
func load16(p unsafe.Pointer, at uintptr) uint16 { return *(*uint16)(unsafe.Add(p, at)) }
func load32(p unsafe.Pointer, at uintptr) uint32 { return *(*uint32)(unsafe.Add(p, at)) }
func load64(p unsafe.Pointer, at uintptr) uint64 { return *(*uint64)(unsafe.Add(p, at)) }

func store32(p unsafe.Pointer, at uintptr, v uint32) { *(*uint32)(unsafe.Add(p, at)) = v }
func store64(p unsafe.Pointer, at uintptr, v uint64) { *(*uint64)(unsafe.Add(p, at)) = v }

// check is the first pass: it gathers those of n frames from slot head on that may be
// routed, and returns their number. Frames that need a longer look get it after the others.
// Two loops of few variables, without calls, keep them in registers: with forwardReady that
// bought 4 ns a packet.
func (w *Worker) check(r *receive, head, n uint32) int {
	var good int
	if w.collect(r, head, n) {
		good = w.verify(r, int(n))
	} else {
		w.oddity = copy(w.odds[:], w.slot[:n])
	}
	if w.oddity > 0 {
		good = w.lookAgain(r, good)
	}
	return good
}

// collect finds the frames of n slots. It reports false when a frame of them is in more
// than one slot or not in its buffer: then each deserves the longer look.
func (w *Worker) collect(r *receive, head, n uint32) bool {
	at := head
	for i := range n {
		w.slot[i&(MaxBatch-1)] = at
		at = r.ring.Next(at)
	}
	w.rxPackets += uint64(n)
	var odd bool
	quick := uint32(0)
	if headersAtOnce <= MaxBatch {
		quick = min(n, r.ring.Slots()-head) &^ uint32(headersAtOnce-1)
	}
	if quick > 0 {
		var total uint64
		total, odd = w.collectAVX512(r.ring, head, quick)
		w.rxBytes += total
	}
	return w.collectInGo(r.ring, quick, n) && !odd && r.chain == 0
}

// collectInGo is collect from packet i on, whose slots are known.
func (w *Worker) collectInGo(ring *nmring.Ring, i, n uint32) bool {
	total, flags, room := uint64(0), uint16(0), int64(0)
	for ; i < n; i++ {
		s := ring.Slot(w.slot[i&(MaxBatch-1)])
		length := uint32(s.Len)
		w.place[i&(MaxBatch-1)] = ring.Place(s)
		w.length[i&(MaxBatch-1)] = length
		total += uint64(length)
		flags |= s.Flags
		room |= int64(ring.BufSize()) - int64(ring.Offset(s)) - int64(max(length, shortest))
	}
	w.rxBytes += total
	return flags&nmring.MoreFrag == 0 && room >= 0
}

// verify checks the headers of n frames that were collected. Those that pass move together
// at the front.
func (w *Worker) verify(r *receive, n int) (good int) {
	done := 0
	for done+headersAtOnce <= n {
		size := min(n-done, 64) &^ (headersAtOnce - 1)
		bad := w.headersAVX512(r, done, size)
		if bad == 0 && good == done {
			good += size
		} else {
			for i := done; i < done+size; i++ {
				w.sort(i, good, bad>>(i-done)&1 != 0)
				good += int(^bad >> (i - done) & 1)
			}
		}
		done += size
	}
	return w.verifyInGo(r, done, n, good)
}

// sort moves packet i to number good, or puts its frame aside.
func (w *Worker) sort(i, good int, bad bool) {
	if bad {
		w.odds[w.oddity] = w.slot[i]
		w.oddity++
		return
	}
	w.place[good], w.slot[good], w.length[good], w.dst[good] = w.place[i], w.slot[i], w.length[i], w.dst[i]
}

// verifyInGo is verify from packet i on, and what the assembly version is compared with.
func (w *Worker) verifyInGo(r *receive, i, n, good int) int {
	for ; i < n; i++ {
		place := w.place[i&(MaxBatch-1)]
		length, p := int64(w.length[i&(MaxBatch-1)]), r.ring.At(place)
		h0, h1, h2 := load64(p, atIP), load64(p, atTTL), load32(p, atDestination)
		sum, carry := bits.Add64(h0, h1, 0)
		sum, carry = bits.Add64(sum, uint64(h2), carry)
		sum += carry
		ipLen := int64(bits.ReverseBytes16(uint16(h0 >> 16)))
		bad := load64(p, 0)<<16 ^ r.mac
		bad |= load64(p, atType-5)>>40 ^ typeVersion
		bad |= uint64((ipLen-packet.IPv4Len)|(length-packet.EthernetLen-ipLen)) >> 63
		bad |= uint64(suspect[uint8(h1>>32)] | suspect[uint8(h2)])
		if bad != 0 || sum%0xffff != 0 {
			w.odds[w.oddity&(MaxBatch-1)] = w.slot[i&(MaxBatch-1)]
			w.oddity++
			continue
		}
		k := good & (MaxBatch - 1)
		if k != i {
			w.place[k], w.slot[k] = place, w.slot[i&(MaxBatch-1)]
		}
		w.length[k] = sendLength(ipLen, length)
		w.dst[k] = bits.ReverseBytes32(h2)
		good++
	}
	return good
}

// lookAgain takes the frames that were put aside; those that may be routed follow the
// others.
func (w *Worker) lookAgain(r *receive, good int) int {
	for _, at := range w.odds[:w.oddity] {
		if w.odd(r, at) {
			w.gather(r.ring, good, at)
			good++
		}
	}
	w.oddity = 0
	return good
}

// gather makes the frame in slot at packet i of the batch.
func (w *Worker) gather(ring *nmring.Ring, i int, at uint32) {
	s := ring.Slot(at)
	p := ring.Data(s)
	ipLen := bits.ReverseBytes16(load16(p, atTotal))
	w.dst[i] = bits.ReverseBytes32(load32(p, atDestination))
	w.place[i], w.slot[i], w.length[i] = ring.Place(s), at, sendLength(int64(ipLen), int64(s.Len))
}

// sendLength is the length of the frame to send for a packet that came in a frame of a
// length: padding stays as far as the shortest frame needs it.
func sendLength(ipLen, length int64) uint32 {
	return uint32(max(packet.EthernetLen+ipLen, min(length, packet.MinFrame)))
}

// choose replaces the groups of n packets by their next hops.
func (w *Worker) choose(r *receive, n int) {
	for i := range n {
		group := &w.group[i&(MaxBatch-1)]
		hop, only := w.table.Only(*group)
		if !only {
			hop = w.table.Select(*group, flowAt(r.ring.At(w.place[i&(MaxBatch-1)])))
		}
		*group = hop
	}
}

// forward is the third pass: n packets leave by their adjacencies.
func (w *Worker) forward(v *view, r *receive, n int) {
	w.choose(r, n)
	for i := 0; i < n; i++ {
		if i = w.forwardReady(r.ring, i, n); i < n {
			w.forwardOne(v, r, i)
		}
	}
}

// forwardReady forwards the packets from number i on until one whose adjacency is not
// simply ready, or whose ring has no room, and returns its number. It calls nothing,
// for the sake of registers: see check.
func (w *Worker) forwardReady(ring *nmring.Ring, i, n int) int {
	for ; i < n; i++ {
		p := ring.At(w.place[i&(MaxBatch-1)])
		a := w.state.adjacencyAt(w.group[i&(MaxBatch-1)])
		meta := a.meta.Load()
		send := &w.sends[metaPort(meta)]
		head, word, length := send.head, load32(p, atTTL), w.length[i&(MaxBatch-1)]
		if length > metaLimit(meta) || uint8(word) < 2 || head == send.end || send.region != ring.Region() {
			break
		}
		if a.used.Load() == 0 {
			a.used.Store(1)
		}
		store64(p, 0, a.destination.Load())
		store64(p, 6, a.source.Load())
		store32(p, atTTL, decremented(word))
		t := send.ring
		exchange(ring.Slot(w.slot[i&(MaxBatch-1)]), t.Slot(head), uint64(length))
		send.bytes += uint64(length)
		send.head = t.Next(head)
	}
	return i
}

// forwardOne is forward for a packet with any adjacency, to any ring.
func (w *Worker) forwardOne(v *view, r *receive, i int) {
	at, length := w.slot[i], w.length[i]
	s, p := r.ring.Slot(at), r.ring.At(w.place[i])
	a := w.state.adjacencyAt(w.group[i])
	meta := a.meta.Load()
	destination, source := a.destination.Load(), a.source.Load()
	used := &a.used
	if metaKind(meta) == AdjGlean {
		if g, key := w.gleans.find(w.dst[i], metaPort(meta)); g != nil {
			glean, d, s := g.meta.Load(), g.destination.Load(), g.source.Load()
			if g.key.Load() == key {
				meta, destination, source, used = glean, d, s, &g.adjacency.used
			}
		}
	}
	if metaKind(meta) != AdjReady {
		w.exception(r, at, metaKind(meta))
		return
	}
	ipLen := int(bits.ReverseBytes16(load16(p, atTotal)))
	if ttl := load8(p, atTTL); ttl <= 1 || ipLen > metaMTU(meta) {
		w.exception(r, at, AdjReady)
		return
	}
	if used.Load() == 0 {
		used.Store(1)
	}
	store64(p, 0, destination)
	store64(p, 6, source)
	store32(p, atTTL, decremented(load32(p, atTTL)))

	port := metaPort(meta)
	send, t := &w.sends[port], v.transmits[port]
	s.Len = uint16(length)
	switch {
	case send.head == send.end && !w.room(t, port, at):
	case !nmring.Move(r.ring, s, t.ring, t.ring.Slot(send.head)):
		w.drop(DropTxBuffer)
	default:
		send.advance(uint64(length))
	}
}

// exchange is nmring.Move within a region for a frame that is to have the given length:
// one load and one store for each half of a slot.
func exchange(s, d *nmring.Slot, length uint64) {
	const changed = uint64(nmring.BufChanged) << 48
	full, empty := s.BufIdx, d.BufIdx
	*(*uint64)(unsafe.Pointer(d)) = uint64(full) | length<<32 | changed
	*(*uint64)(unsafe.Pointer(s)) = uint64(empty) | changed
	s.Ptr, d.Ptr = d.Ptr, s.Ptr
}

// decremented is the word {TTL, protocol, checksum} of a header, little-endian, with the
// TTL, not 0, one less. By equation 3 of RFC 1624 the checksum grows by one modulo 0xffff.
func decremented(word uint32) uint32 {
	next := uint64(word) + 0x1_0000 - 1
	return uint32(next + (next+0x1_0000)>>32<<16)
}

// flowAt is the flow hash of the packet in a frame whose header the check has passed.
func flowAt(p unsafe.Pointer) uint32 {
	protocol := load8(p, atTTL+1)
	var ports uint32
	if load16(p, atFragment)&0xff3f == 0 && hasPorts(protocol) && bits.ReverseBytes16(load16(p, atTotal)) >= packet.IPv4Len+4 {
		ports = load32(p, atPorts)
	}
	return flowHash(load32(p, atSource), load32(p, atDestination), ports, protocol)
}
