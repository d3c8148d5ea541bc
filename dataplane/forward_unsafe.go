package dataplane

import (
	"math/bits"
	"unsafe"

	"routerd/dataplane/packet"
	"routerd/fib"
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

// check is the first pass: it looks at n frames from slot head on, gathers slots and
// destinations of those that may be routed, and returns their number.
func (w *Worker) check(r *receive, head, n uint32) int {
	ring, mac := r.ring, r.mac
	size, good := ring.BufSize(), 0
	var total uint64
	w.rxPackets += uint64(n)
	for at := head; n > 0; n, at = n-1, ring.Next(at) {
		s := ring.Slot(at)
		length := uint32(s.Len)
		total += uint64(length)
		if length < shortest || length+ring.Offset(s) > size {
			if w.odd(r, at) {
				w.gather(&good, at, ring.Data(s))
			}
			continue
		}
		p := ring.Data(s)
		h0, h1, h2 := load64(p, atIP), load64(p, atTTL), load32(p, atDestination)
		sum := h0>>32 + h0&0xffff_ffff + h1>>32 + h1&0xffff_ffff + uint64(h2)
		ipLen := uint64(bits.ReverseBytes16(uint16(h0 >> 16)))
		bad := load64(p, 0)<<16 ^ mac
		bad |= uint64(load32(p, atType)&0xff_ffff ^ typeVersion)
		below, beyond := ipLen-packet.IPv4Len, uint64(length)-packet.EthernetLen-ipLen
		bad |= (below | beyond) >> 63
		bad |= sum % 0xffff
		bad |= uint64(suspect[uint8(h1>>32)] | suspect[uint8(h2)])
		bad |= uint64(s.Flags & nmring.MoreFrag)
		if r.chain {
			bad = 1
		}
		if bad != 0 && !w.odd(r, at) {
			continue
		}
		w.at[good&(MaxBatch-1)] = at
		w.dst[good&(MaxBatch-1)] = bits.ReverseBytes32(h2)
		good++
	}
	w.rxBytes += total
	return good
}

// gather adds one packet to the batch.
func (w *Worker) gather(good *int, at uint32, p unsafe.Pointer) {
	w.at[*good&(MaxBatch-1)] = at
	w.dst[*good&(MaxBatch-1)] = bits.ReverseBytes32(load32(p, atDestination))
	*good++
}

// forward is the third pass: the packets of the batch leave by their adjacencies.
func (w *Worker) forward(v *view, r *receive, n int) {
	ring, adj := r.ring, w.state.adj
	for i := range n {
		at := w.at[i&(MaxBatch-1)]
		s := ring.Slot(at)
		p := ring.Data(s)
		group := w.group[i&(MaxBatch-1)]
		hop, only := w.table.Only(group)
		if !only {
			hop = w.table.Select(group, flowAt(p))
		}
		a := &adj[hop&(fib.MaxNextHops-1)]
		meta := a.meta.Load()
		destination, source := a.destination.Load(), a.source.Load()
		used := &a.used
		if metaKind(meta) == AdjGlean {
			if g, key := w.gleans.find(w.dst[i&(MaxBatch-1)], metaPort(meta)); g != nil {
				glean, d, s := g.meta.Load(), g.destination.Load(), g.source.Load()
				if g.key.Load() == key {
					meta, destination, source, used = glean, d, s, &g.adjacency.used
				}
			}
		}
		if metaKind(meta) != AdjReady {
			w.exception(r, at, metaKind(meta))
			continue
		}
		ipLen := int(bits.ReverseBytes16(load16(p, atTotal)))
		if ttl := load8(p, atTTL); ttl <= 1 || ipLen > metaMTU(meta) {
			w.exception(r, at, AdjReady)
			continue
		}
		if used.Load() == 0 {
			used.Store(1)
		}
		store64(p, 0, destination)
		store64(p, 6, source)
		store32(p, atTTL, decremented(load32(p, atTTL)))
		length := max(packet.EthernetLen+ipLen, min(int(s.Len), packet.MinFrame))

		port := metaPort(meta)
		send := &w.sends[port]
		t := v.transmits[port]
		if send.space == 0 && !w.room(t, port, at, length) {
			continue
		}
		d := t.ring.Slot(send.head)
		if ring.Region() == t.ring.Region() {
			exchange(s, d, length)
		} else {
			s.Len = uint16(length)
			if !nmring.Copy(ring, s, t.ring, d) {
				w.dropped[DropTxBuffer]++
				continue
			}
		}
		send.bytes += uint64(length)
		send.packets++
		send.head = t.ring.Next(send.head)
		send.space--
	}
}

// exchange is nmring.Move within a region for a frame that is to have the given length:
// one load and one store for each half of a slot.
func exchange(s, d *nmring.Slot, length int) {
	const changed = uint64(nmring.BufChanged) << 48
	full, empty := s.BufIdx, d.BufIdx
	*(*uint64)(unsafe.Pointer(d)) = uint64(full) | uint64(length)<<32 | changed
	*(*uint64)(unsafe.Pointer(s)) = uint64(empty) | changed
	s.Ptr, d.Ptr = d.Ptr, s.Ptr
}

// decremented is the word {TTL, protocol, checksum} of a header, little-endian, with the
// TTL one less. By equation 3 of RFC 1624 the sum changes by ~m + (m-1) = 0xfffe.
func decremented(word uint32) uint32 {
	sum := word>>16 ^ 0xffff + 0xfffe
	sum = sum>>16 + sum&0xffff
	return (word&0xffff - 1) | (sum^0xffff)<<16
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
