package loopback

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"routerd/nmring"
)

// queue is a ring pair and the wire between them.
type queue struct {
	rx, tx  *nmring.Ring
	taken   uint32 // next transmit slot to leave
	burst   uint32
	station uint64 // the first 8 bytes of a frame for the port
	stream  []uint32
	at      int
	fixed   bool
	_       [64]byte
}

// station is the first 8 bytes of a frame to mac, as one little-endian word.
func station(mac [6]byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(mac[:])) | uint64(binary.LittleEndian.Uint16(mac[4:]))<<32 | 2<<48
}

// free gives back the slots of the frames that have left. The others are on the wire.
func (q *queue) free() error {
	q.tx.SetTail(q.tx.Add(q.taken, q.tx.Slots()-1))
	return nil
}

// receive takes frames off the wire until a burst waits in the receive ring.
func (q *queue) receive() error {
	rx, tx, stream, at := q.rx, q.tx, q.stream, q.at
	tail, from := rx.Tail(), q.taken
	n := min(q.burst-min(q.burst, rx.Space()), tx.Distance(from, tx.Head()))
	if n == 0 {
		return nil
	}
	for range n {
		s, d := tx.Slot(from), rx.Slot(tail)
		// What a driver does for a packet: one word for one descriptor.
		full, empty := words(s), words(d)
		full[0], empty[0] = empty[0], full[0]
		p := rx.Data(d)
		if at == len(stream) {
			at = 0
		}
		var dst uint32
		if q.fixed {
			dst = bits.ReverseBytes32(*(*uint32)(unsafe.Add(p, 30)))
		} else {
			dst = stream[at]
			at++
		}
		// The next packet of the stream in three stores.
		*(*uint64)(p) = q.station
		*(*uint64)(unsafe.Add(p, 22)) = ttl | 17<<8 | checksum(dst)<<16 | uint64(bits.ReverseBytes32(Source))<<32
		*(*uint32)(unsafe.Add(p, 30)) = bits.ReverseBytes32(dst)
		from, tail = tx.Next(from), rx.Next(tail)
	}
	q.taken, q.at = from, at
	rx.SetTail(tail)
	return q.free()
}

func words(s *nmring.Slot) *[2]uint64 { return (*[2]uint64)(unsafe.Pointer(s)) }

// Sum of the header's words that do not change, without TTL: see firstFrame.
const restSum = 0x4500 + Frame - 14 + 0x4000 + 17 + Source>>16 + Source&0xffff

const ttl = 64

// checksum is that of a header to dst, as a little-endian machine stores it.
func checksum(dst uint32) uint64 {
	sum := uint32(restSum+ttl<<8) + dst>>16 + dst&0xffff
	sum = sum>>16 + sum&0xffff
	return uint64(bits.ReverseBytes16(uint16((sum>>16 + sum) ^ 0xffff)))
}

// Bounce sends a burst of queue q as it came: what the benchmark costs without forwarding.
func (p *Port) Bounce(q int) int {
	u := p.queues[q]
	_ = u.receive()
	rx, tx := u.rx, u.tx
	n := min(rx.Space(), tx.Space(), u.burst)
	from, to := rx.Head(), tx.Head()
	for range n {
		full, empty := words(rx.Slot(from)), words(tx.Slot(to))
		full[0], empty[0] = empty[0], full[0]
		from, to = rx.Next(from), tx.Next(to)
	}
	rx.SetHead(from)
	tx.SetHead(to)
	_ = u.free()
	return int(n)
}
