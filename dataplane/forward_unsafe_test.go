package dataplane

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"routerd/dataplane/packet"
)

// The quick TTL update agrees with the one that is proven against recomputation, for every
// checksum.
func TestQuickTTLUpdateIsTheSlowOne(t *testing.T) {
	if *(*byte)(unsafe.Pointer(&[]uint16{1}[0])) != 1 {
		t.Fatal("the forwarding loop needs a little-endian machine")
	}
	for _, ttl := range []uint8{2, 3, 64, 128, 255} {
		for checksum := range uint32(1 << 16) {
			p := make(packet.IPv4, packet.IPv4Len)
			p[8], p[9] = ttl, packet.ProtoTCP
			binary.BigEndian.PutUint16(p[10:], uint16(checksum))
			quick := decremented(binary.LittleEndian.Uint32(p[8:]))
			p.DecrementTTL()
			if want := binary.LittleEndian.Uint32(p[8:]); quick != want {
				t.Fatalf("TTL %d, checksum %#04x: %#08x, want %#08x", ttl, checksum, quick, want)
			}
		}
	}
}

func TestFlowIsTheSameInBothPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := rapid.SliceOfN(rapid.Byte(), 60, 80).Draw(t, "frame")
		frame[14] = 0x45
		frame[23] = rapid.SampledFrom([]byte{1, 6, 17, 33, 47, 132, 136, 200}).Draw(t, "protocol")
		total := rapid.IntRange(20, len(frame)-14).Draw(t, "total")
		binary.BigEndian.PutUint16(frame[16:], uint16(total))
		if rapid.Bool().Draw(t, "whole") {
			frame[20], frame[21] = 0x40, 0
		}
		if quick, slow := flowAt(unsafe.Pointer(&frame[0])), flowOf(packet.IPv4(frame[14:14+total])); quick != slow {
			t.Fatalf("%#x, slow path %#x", quick, slow)
		}
	})
}
