//go:build linux

package probe

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func sample() UDP {
	return UDP{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
		Src: netip.MustParseAddrPort("192.0.2.10:4000"), Dst: netip.MustParseAddrPort("198.51.100.9:4001"),
		TTL: 64, Payload: []byte("thirteen bytes of payload"),
	}
}

func TestUDPSurvivesTheWire(t *testing.T) {
	want := sample()
	got, err := ParseUDP(want.Frame())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseUDPFindsEveryFlippedByte(t *testing.T) {
	sound := sample().Frame()
	for i := etherLen; i < len(sound); i++ {
		frame := append([]byte(nil), sound...)
		frame[i] ^= 0x10
		if got, err := ParseUDP(frame); err == nil {
			t.Errorf("byte %d flipped: taken for sound: %+v", i, got)
		}
	}
	frame := append([]byte(nil), sound...)
	frame[etherLen+8]-- // a router that forgets the checksum
	if _, err := ParseUDP(frame); !errors.Is(err, ErrChecksum) {
		t.Errorf("ttl changed alone: got %v, want %v", err, ErrChecksum)
	}
}

func TestMalformedFramesAreMalformedInOneWay(t *testing.T) {
	for _, m := range MalformedFrames(sample()) {
		_, err := ParseUDP(m.Frame)
		if m.Name == "header checksum off by one" {
			if !errors.Is(err, ErrChecksum) {
				t.Errorf("%s: got %v", m.Name, err)
			}
		} else if errors.Is(err, ErrChecksum) && m.Name != "header length beyond the frame" {
			t.Errorf("%s: fails by its checksum, not by its fault", m.Name)
		}
	}
}

func FuzzParseUDP(f *testing.F) {
	f.Add(sample().Frame())
	for _, m := range MalformedFrames(sample()) {
		f.Add(m.Frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if _, err := ParseUDP(frame); err == nil && len(frame) < etherLen+ipLen+8 {
			t.Errorf("%d bytes taken for a UDP packet", len(frame))
		}
	})
}
