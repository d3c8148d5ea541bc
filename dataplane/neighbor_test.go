package dataplane_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
)

const host7 = 0xc6336407 // 198.51.100.7

// asks reads ARP requests from frames: who is asked, and whether by broadcast.
func asks(frames [][]byte) []string {
	var all []string
	for _, f := range frames {
		a, err := packet.ParseARP(packet.Ethernet(f).Payload())
		if err != nil || packet.Ethernet(f).Type() != packet.TypeARP || a.Op() != packet.ARPRequest {
			continue
		}
		to := "all"
		if d := packet.Ethernet(f).Destination(); d != packet.Broadcast {
			to = d.String()
		}
		all = append(all, fmt.Sprintf("%v asks %s for %v", packet.Addr(a.SenderIP()), to, packet.Addr(a.TargetIP())))
	}
	return all
}

// errorsIn are the ICMP errors in frames, by type, code, quoted destination.
func errorsIn(t *testing.T, frames [][]byte) []string {
	t.Helper()
	var all []string
	for _, f := range frames {
		p, err := packet.ParseIPv4(packet.Ethernet(f).Payload())
		if err != nil || p.Protocol() != packet.ProtoICMP {
			continue
		}
		m := packet.ICMP(p.Payload())
		if packet.Sum(m) != 0 {
			t.Errorf("wrong ICMP checksum: % x", []byte(m))
		}
		about := packet.IPv4(m.Payload())
		all = append(all, fmt.Sprintf("%d/%d mtu %d from %v to %v about %v", m.Type(), m.Code(), m.MTU(),
			packet.Addr(p.Source()), packet.Addr(p.Destination()), packet.Addr(about.Destination())))
	}
	return all
}

func (r *router) neighbor(addr string) dataplane.NeighborInfo {
	for _, n := range r.dp.Neighbors() {
		if n.Address == netip.MustParseAddr(addr) {
			return n
		}
	}
	return dataplane.NeighborInfo{}
}

func (r *router) expectState(addr string, want dataplane.NeighborState) {
	r.t.Helper()
	if n := r.neighbor(addr); !n.Address.IsValid() || n.State != want {
		r.t.Errorf("neighbour %s is %v, want %v", addr, n, want)
	}
}

func TestHeldPacketsLeaveInOrderWhenTheNeighbourAnswers(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	r.settle()
	b.arp = false
	for i := range byte(10) {
		a.send(known(i))
	}
	if diff := cmp.Diff([]string{"198.51.100.1 asks all for 198.51.100.7"}, asks(r.settle()["b"])); diff != "" {
		t.Fatal(diff)
	}
	if n := r.neighbor("198.51.100.7"); n.State != dataplane.Incomplete || n.Held != 8 {
		t.Errorf("while it waits: %+v", n)
	}
	b.Send(0, arpFrame(packet.ARPReply, b.far, host7, b.mac, 0xc6336401))
	out := seeAll(t, r.settle()["b"])
	for i := range out {
		if out[i].Mark != byte(i) || out[i].TTL != 63 || out[i].Dst != b.far {
			t.Errorf("packet %d: %+v", i, out[i])
		}
	}
	if len(out) != 8 || r.drops(dataplane.DropNeighborQueue) != 2 {
		t.Errorf("%d of 10 arrived, %d dropped; 8 are held", len(out), r.drops(dataplane.DropNeighborQueue))
	}
	r.expectState("198.51.100.7", dataplane.Reachable)
}

func TestSilentNeighbourIsAskedThreeTimesThenRefused(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	r.settle()
	b.arp = false
	a.send(known(1))
	first := r.settle()
	out := r.pass(3 * time.Second)
	want := "198.51.100.1 asks all for 198.51.100.7"
	if diff := cmp.Diff([]string{want, want, want}, append(asks(first["b"]), asks(out["b"])...)); diff != "" {
		t.Error(diff)
	}
	unreachable := "3/1 mtu 0 from 192.0.2.1 to 192.0.2.7 about 198.51.100.7"
	if diff := cmp.Diff([]string{unreachable}, errorsIn(t, out["a"])); diff != "" {
		t.Error(diff)
	}
	r.expectState("198.51.100.7", dataplane.Failed)
	// The negative cache answers at once, without asking.
	a.send(known(2))
	out = r.settle()
	if diff := cmp.Diff([]string{unreachable}, errorsIn(t, out["a"])); diff != "" || len(out["b"]) != 0 {
		t.Errorf("%v %s", asks(out["b"]), diff)
	}
	if n := r.drops(dataplane.DropNeighbor); n != 2 {
		t.Errorf("%d dropped as neighbor-unresolved", n)
	}
	r.pass(3 * time.Second)
	if n := r.neighbor("198.51.100.7"); n.Address.IsValid() {
		t.Errorf("still there: %+v", n)
	}
	b.arp = true
	a.send(known(3))
	if out := seeAll(t, r.settle()["b"]); len(out) != 1 || out[0].Mark != 3 {
		t.Errorf("after the neighbour came up: %v", out)
	}
}

func TestSilentGatewayRefusesAndComesBack(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	b.arp = false
	r.settle()
	r.expectState("198.51.100.9", dataplane.Incomplete)
	r.pass(4 * time.Second)
	r.expectState("198.51.100.9", dataplane.Failed)
	a.send(udp{src: "192.0.2.7", dst: "203.0.113.5"})
	if diff := cmp.Diff([]string{"3/1 mtu 0 from 192.0.2.1 to 192.0.2.7 about 203.0.113.5"}, errorsIn(t, r.settle()["a"])); diff != "" {
		t.Error(diff)
	}
	b.arp = true
	r.pass(3 * time.Second)
	r.expectState("198.51.100.9", dataplane.Reachable)
	a.send(udp{src: "192.0.2.7", dst: "203.0.113.5", mark: 8})
	if out := seeAll(t, r.settle()["b"]); len(out) != 1 || out[0].Mark != 8 {
		t.Errorf("after it came back: %v", out)
	}
}

func TestUsedNeighbourIsProbedByUnicastUnusedOneAges(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(known(1), udp{src: "192.0.2.7", dst: "198.51.100.8"})
	r.settle()
	b.arp = false
	r.pass(31 * time.Second)
	r.expectState("198.51.100.7", dataplane.Stale)
	a.send(known(2))
	r.settle()
	r.pass(2 * time.Second)
	r.expectState("198.51.100.7", dataplane.Delay)
	probes := asks(r.pass(6 * time.Second)["b"])
	probe := "198.51.100.1 asks " + b.far.String() + " for 198.51.100.7"
	if len(probes) == 0 || probes[len(probes)-1] != probe {
		t.Errorf("asked: %v, want %s", probes, probe)
	}
	r.expectState("198.51.100.7", dataplane.Probe)
	a.send(known(3))
	if out := seeAll(t, r.settle()["b"]); len(out) != 1 || out[0].Mark != 3 {
		t.Errorf("while it is probed: %v", out)
	}
	b.Send(0, arpFrame(packet.ARPReply, b.far, host7, b.mac, 0xc6336401))
	r.settle()
	r.expectState("198.51.100.7", dataplane.Reachable)
	r.expectState("198.51.100.8", dataplane.Stale)
	r.pass(21 * time.Minute)
	if n := r.neighbor("198.51.100.8"); n.Address.IsValid() {
		t.Errorf("unused for 21 minutes: %+v", n)
	}
}

func TestDeadNeighbourIsSearchedAnewAfterThreeProbes(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(known(1))
	r.settle()
	b.arp = false
	r.pass(30 * time.Second)
	a.send(known(2))
	r.pass(12 * time.Second)
	if n := r.neighbor("198.51.100.7"); n.Address.IsValid() {
		t.Fatalf("does not answer probes: %+v", n)
	}
	a.send(known(3))
	if diff := cmp.Diff([]string{"198.51.100.1 asks all for 198.51.100.7"}, asks(r.settle()["b"])); diff != "" {
		t.Error(diff)
	}
}

func TestGatewayIsKeptConfirmedWithoutTraffic(t *testing.T) {
	r, _, b := twoPorts(t, routerOptions{})
	r.settle()
	r.pass(10 * time.Minute)
	n := r.neighbor("198.51.100.9")
	if n.State != dataplane.Reachable || !n.Gateway || r.now.Sub(n.Confirmed) > 31*time.Second || n.MAC != b.far {
		t.Errorf("%+v", n)
	}
}

func TestNeighbourThatMovesGetsItsPacketsAtOnce(t *testing.T) {
	moved := packet.MAC{2, 9, 9, 9, 9, 9}
	for _, c := range []struct {
		name string
		tell func(r *router, b *wire)
	}{
		{"gratuitous request", func(_ *router, b *wire) {
			b.Send(0, arpFrame(packet.ARPRequest, moved, host7, packet.MAC{}, host7))
			b.Send(0, arpFrame(packet.ARPRequest, moved, 0xc6336409, packet.MAC{}, 0xc6336409))
		}},
		{"gratuitous reply", func(_ *router, b *wire) {
			b.Send(0, arpFrame(packet.ARPReply, moved, host7, packet.Broadcast, host7))
			b.Send(0, arpFrame(packet.ARPReply, moved, 0xc6336409, packet.Broadcast, 0xc6336409))
		}},
		{"overheard by the driver", func(r *router, b *wire) {
			e := r.dp.Events(b.index)
			e.Overheard(arpFrame(packet.ARPRequest, moved, host7, packet.MAC{}, host7))
			e.Overheard(arpFrame(packet.ARPRequest, moved, 0xc6336409, packet.MAC{}, 0xc6336409))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, a, b := twoPorts(t, routerOptions{})
			a.send(known(1))
			r.settle()
			c.tell(r, b)
			r.settle()
			a.send(known(2), udp{src: "192.0.2.7", dst: "203.0.113.5"})
			for _, s := range seeAll(t, r.settle()["b"]) {
				if s.Dst != moved {
					t.Errorf("still goes to %v: %+v", s.Dst, s)
				}
			}
			r.expectState("198.51.100.7", dataplane.Stale)
		})
	}
}

func TestNobodyFillsTheTableUnasked(t *testing.T) {
	r, _, b := twoPorts(t, routerOptions{})
	r.settle()
	before := len(r.dp.Neighbors())
	for i := range uint32(100) {
		b.Send(0, arpFrame(packet.ARPReply, b.far, 0xc6336410+i, b.mac, 0xc6336401))
		b.Send(0, arpFrame(packet.ARPRequest, b.far, 0x0a000001+i, packet.MAC{}, 0xc6336499))
	}
	r.settle()
	if n := len(r.dp.Neighbors()); n != before {
		t.Errorf("%d neighbours, %d before", n, before)
	}
}

func TestOwnAddressesAreAnswered(t *testing.T) {
	r, _, b := twoPorts(t, routerOptions{})
	r.settle()
	for _, c := range []struct {
		name           string
		sender, target uint32
		answered       bool
	}{
		{"our address", host7, 0xc6336401, true},
		{"a probe of RFC 5227", 0, 0xc6336401, true},
		{"another's address", host7, 0xc6336433, false},
		{"our address on another port", host7, 0xc0000201, false},
		{"an off-subnet sender", 0x0a000001, 0xc6336401, false},
	} {
		b.Send(0, arpFrame(packet.ARPRequest, b.far, c.sender, packet.MAC{}, c.target))
		out := r.settle()["b"]
		if (len(out) == 1) != c.answered {
			t.Errorf("%s: %d answers", c.name, len(out))
			continue
		}
		if len(out) == 1 {
			a, err := packet.ParseARP(out[0][14:])
			if err != nil || a.Op() != packet.ARPReply || a.SenderMAC() != b.mac || a.SenderIP() != c.target ||
				a.TargetMAC() != b.far || a.TargetIP() != c.sender || packet.Ethernet(out[0]).Destination() != b.far {
				t.Errorf("%s: % x", c.name, out[0])
			}
		}
	}
}

func TestScanOfASubnetEvictsNobodyAndIsBounded(t *testing.T) {
	r := newRouter(t, routerOptions{burst: 1, buffers: 16384})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 1024})
	b := r.port("b", "10.7.0.1/16", nmring.PipeOptions{Slots: 1024})
	for i := range byte(50) {
		a.send(udp{src: "192.0.2.7", dst: netip.AddrFrom4([4]byte{10, 7, 200, i}).String()})
	}
	r.settle()
	b.arp = false
	for i := range 3000 {
		a.send(udp{src: "192.0.2.7", dst: netip.AddrFrom4([4]byte{10, 7, byte(i >> 8), byte(i)}).String()})
		if i%100 == 99 {
			r.settle()
		}
	}
	alive := 0
	for _, n := range r.dp.Neighbors() {
		if n.State == dataplane.Reachable && n.Port == b.index {
			alive++
		}
	}
	all, _ := r.dp.Held()
	if alive != 50 || all > 1024 || len(r.dp.Neighbors()) > 1024+60 || r.drops(dataplane.DropNeighborTable) == 0 {
		t.Errorf("%d of 50 alive, %d held, %d entries, %d refused", alive, all, len(r.dp.Neighbors()), r.drops(dataplane.DropNeighborTable))
	}
	for i := range byte(50) {
		a.send(udp{src: "192.0.2.7", dst: netip.AddrFrom4([4]byte{10, 7, 200, i}).String()})
	}
	if out := r.settle()["b"]; len(out) != 50 {
		t.Errorf("%d of 50 packets to the living arrived", len(out))
	}
	r.pass(7 * time.Second)
	if n := len(r.dp.Neighbors()); n > 60 {
		t.Errorf("%d entries after the scan", n)
	}
}

func TestFloodOfExpiredPacketsDoesNotStarveResolution(t *testing.T) {
	r := newRouter(t, routerOptions{buffers: 16384})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 1024})
	b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{Slots: 1024})
	a.send(known(0))
	b.send(udp{src: "198.51.100.7", dst: "192.0.2.7"})
	r.settle()
	for range 900 {
		a.send(udp{src: "192.0.2.7", dst: "198.51.100.7", ttl: 1, size: 600})
	}
	a.send(udp{src: "192.0.2.7", dst: "198.51.100.20", mark: 77})
	for range 8 {
		r.dp.Worker(0).Round()
	}
	out := r.settle()
	if found := seeAll(t, out["b"]); len(found) != 1 || found[0].Mark != 77 {
		t.Errorf("behind 900 expired packets: %v", found)
	}
	total := r.state.Total()
	if n := len(errorsIn(t, out["a"])); n != 100 || total.Drops(dataplane.DropTTL) != 900 || total.ICMPSent != 100 || total.ICMPSuppressed != 800 {
		t.Errorf("%d errors arrived, %d dropped, %d sent, %d suppressed", n, total.Drops(dataplane.DropTTL), total.ICMPSent, total.ICMPSuppressed)
	}
	if total.Dropped[dataplane.DropTTL] == 0 || total.Slow.Dropped[dataplane.DropTTL] == 0 {
		t.Error("the flood did not overflow the ring")
	}
}

func TestNextHopsCanBeRedefined(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	r.settle()
	g := r.route("172.16.0.0/12", via(b, "198.51.100.2"))
	r.settle()
	var old, now [fib.MaxMembers]uint16
	r.fib.table.Members(g, &old)
	if adj := r.state.Adjacency(old[0]); adj.Kind != dataplane.AdjReady || adj.Destination != b.far || adj.Source != b.mac || adj.Port != b.index || adj.MTU != 1500 {
		t.Errorf("adjacency: %+v", adj)
	}
	i, err := r.fib.writer.AcquireNextHop(fib.NextHop{Action: fib.ActionBlackhole})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.fib.writer.SetGroup(g, []uint16{i}); err != nil {
		t.Fatal(err)
	}
	r.fib.writer.ReleaseNextHop(i)
	r.fib.table.Members(g, &now)
	a.send(udp{src: "192.0.2.7", dst: "172.16.1.1"})
	r.settle()
	if n := r.drops(dataplane.DropBlackhole); n != 1 {
		t.Errorf("%d in the blackhole", n)
	}
	r.pass(31 * time.Second)
	if n := r.neighbor("198.51.100.2"); n.Gateway {
		t.Errorf("no next hop names it any more: %+v", n)
	}
}
