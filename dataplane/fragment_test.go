package dataplane_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/nmring"
)

// together are the packets of frames, fragments put together.
func together(t testing.TB, frames [][]byte) (packets [][]byte) {
	t.Helper()
	var whole []byte
	for i, f := range frames {
		p, err := packet.ParseIPv4(f[packet.EthernetLen:])
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if p.FragmentOffset() == 0 {
			whole = nil
		}
		if at := p.FragmentOffset() * 8; at != len(whole) {
			t.Fatalf("frame %d begins at %d, want %d", i, at, len(whole))
		}
		whole = append(whole, p.Payload()...)
		if binary.BigEndian.Uint16(p[6:])&0x2000 == 0 {
			packets = append(packets, whole)
		}
	}
	return packets
}

func TestTooBigPacketLeavesInFragments(t *testing.T) {
	for _, c := range []struct {
		name string
		dst  string
		size int
		want []int // total lengths
	}{
		{"to a next hop", "203.0.113.7", 1400, []int{596, 596, 276}},
		{"to a station whose MAC is not known yet", "198.51.100.7", 1400, []int{596, 596, 276}},
		{"just larger", "203.0.113.7", 573, []int{596, 25}},
		{"just fitting", "203.0.113.7", 572, []int{600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRouter(t, routerOptions{})
			a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{})
			b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{MTU: 600})
			r.route("203.0.113.0/24", via(b, "198.51.100.9"))
			r.settle()
			sent := a.build(udp{src: "192.0.2.7", dst: c.dst, size: c.size, mark: 5})
			a.TrySend(0, sent)
			var lengths []int
			frames := r.settle()["b"]
			for _, f := range frames {
				p := packet.IPv4(f[packet.EthernetLen:])
				lengths = append(lengths, p.TotalLen())
				if p.TTL() != 63 || packet.Ethernet(f).Source() != b.mac || packet.Ethernet(f).Destination() != b.far || len(f) < packet.MinFrame {
					t.Errorf("frame %x", f[:34])
				}
			}
			if diff := cmp.Diff(c.want, lengths); diff != "" {
				t.Error(diff)
			}
			if got := together(t, frames); len(got) != 1 || !bytes.Equal(got[0], packet.IPv4(sent[packet.EthernetLen:]).Payload()) {
				t.Errorf("%d packets came out, not the one that went in", len(got))
			}
			if total := r.state.Total(); total.AllDrops() != 0 {
				t.Errorf("%d dropped", total.AllDrops())
			}
		})
	}
}

// With less room than all fragments need, none is sent, and the packet is dropped once.
func TestFragmentsGoAllOrNone(t *testing.T) {
	r := newRouter(t, routerOptions{workers: 2})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 256, Queues: 2})
	b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{MTU: 68})
	r.route("203.0.113.0/24", via(b, "198.51.100.9"))
	r.settle()
	const sent = 320
	for i := range sent {
		a.TrySend(i%2, a.build(udp{src: "192.0.2.7", dst: "203.0.113.7", size: 1400}))
	}
	for w := range 2 {
		for r.dp.Worker(w).Round() > 0 { // all of them wait for the slow path
		}
	}
	frames := r.settle()["b"]
	total := r.state.Total()
	whole, dropped := len(together(t, frames)), int(total.AllDrops())
	if whole == 0 || whole == sent || whole+dropped != sent || len(frames) != whole*30 {
		t.Errorf("%d of %d packets arrived whole in %d frames, %d were dropped", whole, sent, len(frames), dropped)
	}
	if n := int(r.drops(dataplane.DropInjectOverflow) + r.drops(dataplane.DropPuntOverflow)); n != dropped {
		t.Errorf("%d of %d drops are overflows", n, dropped)
	}
}
