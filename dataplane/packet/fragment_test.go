package packet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routerd/dataplane/packet"
)

// datagram makes a sound packet with options (a multiple of 4 bytes) and a place, the
// flags and the offset.
func datagram(options, data []byte, place uint16) packet.IPv4 {
	p := make(packet.IPv4, packet.IPv4Len+len(options)+len(data))
	p.Encode(packet.IPv4Fields{TTL: 9, Protocol: packet.ProtoUDP, ID: 77, Source: 0xc0000207, Destination: 0xc6336407})
	copy(p[packet.IPv4Len:], options)
	copy(p[packet.IPv4Len+len(options):], data)
	p[0] = 0x45 + byte(len(options)/4)
	binary.BigEndian.PutUint16(p[6:], place)
	binary.BigEndian.PutUint16(p[10:], 0)
	binary.BigEndian.PutUint16(p[10:], packet.Sum(p[:p.HeaderLen()]))
	return p
}

func cut(t interface{ Fatal(...any) }, p packet.IPv4, mtu int) []packet.IPv4 {
	var f packet.Fragments
	if err := f.Cut(p, mtu); err != nil {
		t.Fatal(err)
	}
	var all []packet.IPv4
	for left := f.Count(); left > 0; left-- {
		if got := f.Count(); got != left {
			t.Fatal("Count", got, "want", left)
		}
		piece := f.Next(nil)
		if len(piece) > mtu {
			t.Fatal("fragment of", len(piece), "bytes for an MTU of", mtu)
		}
		all = append(all, piece)
	}
	return all
}

func TestFragmentsCarryTheOptionsOfRFC791(t *testing.T) {
	recordRoute := []byte{7, 7, 4, 0, 0, 0, 0} // not copied
	security := []byte{130, 5, 1, 2, 3}        // copied
	streamID := []byte{136, 4, 9, 9}           // copied
	options := bytes.Join([][]byte{recordRoute, security, {1, 1}, streamID, {0, 0}}, nil)
	all := cut(t, datagram(options, make([]byte, 100), 0), 100)
	if diff := cmp.Diff(options, all[0].Options()); diff != "" {
		t.Error("first fragment:", diff)
	}
	copied := append(append(append([]byte{}, security...), streamID...), 0, 0, 0)
	for _, p := range all[1:] {
		if diff := cmp.Diff(copied, p.Options()); diff != "" {
			t.Error("later fragment:", diff)
		}
	}
}

func TestWhatCannotBeFragmentedSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		p   packet.IPv4
		mtu int
	}{
		"an end beyond 65,535":                  {datagram(nil, make([]byte, 100), 0x1fff), 68},
		"an option that ends behind the header": {datagram([]byte{7, 9, 4, 0}, make([]byte, 100), 0), 68},
		"an option of one byte":                 {datagram([]byte{7, 1, 4, 0}, make([]byte, 100), 0), 68},
		"no room for data":                      {datagram(make([]byte, 40), make([]byte, 100), 0), 67},
	} {
		if err := new(packet.Fragments).Cut(c.p, c.mtu); !errors.Is(err, packet.ErrFragment) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A receiver that puts the fragments together has the packet again, also when the
// fragments were cut once more.
func TestFragmentsMakeThePacketAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var options []byte
		for range rapid.IntRange(0, 3).Draw(t, "options") {
			kind := rapid.SampledFrom([]byte{7, 68, 130, 136, 148}).Draw(t, "kind")
			options = append(options, kind, 4, rapid.Byte().Draw(t, "value"), 0)
		}
		data := rapid.SliceOfN(rapid.Byte(), 200, 3000).Draw(t, "data")
		place := uint16(rapid.SampledFrom([]int{0, 0x2000, 185, 0x2000 | 185}).Draw(t, "place"))
		if place&0x2000 != 0 {
			data = data[:len(data)&^7]
		}
		p := datagram(options, data, place)
		var all []packet.IPv4
		for _, f := range cut(t, p, rapid.IntRange(128, 216).Draw(t, "mtu")) {
			mtu := rapid.IntRange(68, 200).Draw(t, "next mtu")
			if len(f) <= mtu {
				all = append(all, f)
			} else {
				all = append(all, cut(t, f, mtu)...)
			}
		}
		next := p.FragmentOffset() * 8
		var got []byte
		for i, f := range all {
			parsed, err := packet.ParseIPv4(f)
			if err != nil || len(parsed) != len(f) {
				t.Fatalf("fragment %d: %v", i, err)
			}
			more, last := f[6]&0x20 != 0, i == len(all)-1
			switch {
			case f.FragmentOffset()*8 != next:
				t.Fatalf("fragment %d begins at %d, want %d", i, f.FragmentOffset()*8, next)
			case more != (!last || place&0x2000 != 0):
				t.Fatalf("fragment %d of %d: more fragments %v", i, len(all), more)
			case !bytes.Equal(f[4:6], p[4:6]) || !bytes.Equal(f[8:10], p[8:10]) || !bytes.Equal(f[12:20], p[12:20]):
				t.Fatalf("fragment %d has another header: %x of %x", i, f[:20], p[:20])
			}
			next += len(f.Payload())
			got = append(got, f.Payload()...)
		}
		if !bytes.Equal(got, data) {
			t.Fatal("the fragments have other data")
		}
	})
}

func TestFragmentsDoNotAllocate(t *testing.T) {
	p, b := datagram(nil, make([]byte, 3000), 0), make([]byte, 0, 1500)
	var f packet.Fragments
	if n := testing.AllocsPerRun(100, func() {
		if f.Cut(p, 576) != nil {
			t.Fatal("cannot be cut")
		}
		for f.Count() > 0 {
			b = f.Next(b[:0])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzFragments(f *testing.F) {
	f.Add([]byte(datagram([]byte{7, 4, 4, 0}, make([]byte, 200), 0)), uint16(100))
	f.Fuzz(func(t *testing.T, frame []byte, mtu uint16) {
		p, err := packet.ParseIPv4(frame)
		if err != nil || mtu < 68 || len(p) <= int(mtu) {
			return
		}
		var c packet.Fragments
		if c.Cut(p, int(mtu)) != nil {
			return
		}
		data := 0
		for c.Count() > 0 {
			piece, err := packet.ParseIPv4(c.Next(nil))
			if err != nil || len(piece) > int(mtu) {
				t.Fatalf("%v: %x", err, piece)
			}
			data += len(piece.Payload())
		}
		if data != len(p.Payload()) {
			t.Fatalf("%d bytes of data in the fragments of %d", data, len(p.Payload()))
		}
	})
}
