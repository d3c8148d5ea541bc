package dataplane

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routerd/dataplane/packet"
	"routerd/nmring"
)

// receiveRing is a receive ring in a region of its own.
func receiveRing(t *testing.T, slots int) *nmring.Ring {
	t.Helper()
	region, err := nmring.NewRegion(make([]byte, (slots+2)*nmring.Stride), nmring.Stride)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := nmring.NewRing(make([]byte, nmring.RingBytes(slots)), region, 0, nmring.Receive, slots)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// The first pass in assembly, where there is one, is the one in Go: the same packets go on,
// with the same lengths, and the same frames are put aside.
func TestVerifyIsVerifyInGo(t *testing.T) {
	const slots = 300
	ring := receiveRing(t, slots)
	mac := packet.MAC{2, 0, 0, 0, 0, 9}
	r := &receive{ring: ring, mac: macWord(mac)}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxBatch).Draw(t, "frames")
		head := uint32(rapid.IntRange(0, slots-1).Draw(t, "head"))
		wrong := rapid.IntRange(0, 60).Draw(t, "percent wrong")
		seed := rapid.Uint32().Draw(t, "seed")
		random := func(below uint32) uint32 {
			seed = seed*1664525 + 1013904223
			return seed >> 8 % below
		}
		for i := range uint32(n) {
			s := ring.Slot(ring.Add(head, i))
			s.Len, s.Flags = uint16(34+random(60)), 0
			f := ring.Region().Buffer(s.BufIdx)
			packet.Ethernet(f).Encode(mac, packet.MAC{2, 1}, packet.TypeIPv4)
			packet.IPv4(f[14:s.Len]).Encode(packet.IPv4Fields{TTL: uint8(random(256)), Protocol: uint8(random(256)),
				Source: 0x01000000 + random(0x7d000000), Destination: 0x01000000 + random(0x7d000000)})
			switch {
			case random(100) >= uint32(wrong):
			case random(4) == 0: // a length that is wrong for itself or for the frame
				binary.BigEndian.PutUint16(f[16:], uint16(random(100)))
				mend(f)
			case random(3) == 0: // an odd first octet
				f[26+4*random(2)] = []byte{0, 1, 126, 127, 128, 168, 169, 170, 223, 224, 240, 255}[random(12)]
				mend(f)
			default:
				f[random(34)] ^= 1 << random(8)
			}
		}
		quick, slow := new(Worker), new(Worker)
		quick.collect(r, head, uint32(n))
		slow.collect(r, head, uint32(n))
		good, want := quick.verify(r, n), slow.verifyInGo(r, 0, n, 0)
		if good != want {
			t.Fatalf("%d packets go on, %d in Go", good, want)
		}
		for _, d := range []string{
			cmp.Diff(slow.place[:good], quick.place[:good]),
			cmp.Diff(slow.slot[:good], quick.slot[:good]),
			cmp.Diff(slow.length[:good], quick.length[:good]),
			cmp.Diff(slow.dst[:good], quick.dst[:good]),
			cmp.Diff(slow.odds[:slow.oddity], quick.odds[:quick.oddity]),
		} {
			if d != "" {
				t.Fatal(d)
			}
		}
	})
}

// mend makes the header checksum of a frame right.
func mend(frame []byte) {
	frame[24], frame[25] = 0, 0
	binary.BigEndian.PutUint16(frame[24:], packet.Sum(frame[14:34]))
}

// So is the search for the frames of slots, with offsets, chains and lengths that do not fit.
func TestCollectIsCollectInGo(t *testing.T) {
	const slots = 100
	ring := receiveRing(t, slots)
	rapid.Check(t, func(t *rapid.T) {
		ring.SetOffsetMask(rapid.SampledFrom([]uint64{0, 0xfff, 0xffff}).Draw(t, "mask"))
		n := rapid.Uint32Range(1, slots-1).Draw(t, "frames")
		head := rapid.Uint32Range(0, slots-1).Draw(t, "head")
		for i := range uint32(slots) {
			s := ring.Slot(i)
			s.Len, s.Ptr, s.Flags = uint16(i*7), uint64(i)<<40|uint64(i), nmring.BufChanged
		}
		if rapid.Bool().Draw(t, "one is odd") {
			s := ring.Slot(ring.Add(head, rapid.Uint32Range(0, n-1).Draw(t, "which")))
			s.Len = rapid.Uint16().Draw(t, "length")
			s.Ptr = rapid.Uint64().Draw(t, "offset")
			s.Flags = rapid.SampledFrom([]uint16{0, nmring.MoreFrag}).Draw(t, "flags")
		}
		quick, slow := new(Worker), new(Worker)
		got := quick.collect(&receive{ring: ring}, head, n)
		slow.slot = quick.slot
		want := slow.collectInGo(ring, 0, n)
		if got != want || quick.rxBytes != slow.rxBytes || quick.rxPackets != uint64(n) {
			t.Fatalf("%v and %d bytes of %d packets, in Go %v and %d of %d", got, quick.rxBytes, quick.rxPackets, want, slow.rxBytes, n)
		}
		if want {
			if d := cmp.Diff(slow.place[:n], quick.place[:n]) + cmp.Diff(slow.length[:n], quick.length[:n]); d != "" {
				t.Fatal(d)
			}
		}
		if first, last := quick.slot[0], quick.slot[n-1]; first != head || last != ring.Add(head, n-1) {
			t.Fatalf("slots %d to %d", first, last)
		}
	})
}
