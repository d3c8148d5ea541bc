package dataplane_test

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
	"routerd/nmring/ringtest"
)

// twoPorts is a router between 192.0.2.0/24 on a and 198.51.100.0/24 on b, with
// 203.0.113.0/24 behind a gateway on b.
func twoPorts(t testing.TB, o routerOptions) (r *router, a, b *wire) {
	t.Helper()
	r = newRouter(t, o)
	a = r.port("a", "192.0.2.1/24", nmring.PipeOptions{})
	b = r.port("b", "198.51.100.1/24", nmring.PipeOptions{})
	r.route("203.0.113.0/24", via(b, "198.51.100.9"))
	return r, a, b
}

func TestPacketsCrossBothWaysWithTTLOneLess(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(udp{src: "192.0.2.7", dst: "203.0.113.5", mark: 1}, udp{src: "192.0.2.7", dst: "198.51.100.7", mark: 2, ttl: 2})
	b.send(udp{src: "198.51.100.7", dst: "192.0.2.7", mark: 3})
	out := r.settle()
	want := []seen{{Dst: b.far, Src: b.mac, To: "203.0.113.5", TTL: 63, Mark: 1}, {Dst: b.far, Src: b.mac, To: "198.51.100.7", TTL: 1, Mark: 2}}
	if diff := cmp.Diff(want, seeAll(t, out["b"])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]seen{{Dst: a.far, Src: a.mac, To: "192.0.2.7", TTL: 63, Mark: 3}}, seeAll(t, out["a"])); diff != "" {
		t.Error(diff)
	}
	// Now that the neighbours are known the workers alone forward.
	punts := r.state.Total()
	a.send(udp{src: "192.0.2.7", dst: "203.0.113.5", mark: 4}, udp{src: "192.0.2.7", dst: "198.51.100.7", mark: 5})
	want = []seen{{Dst: b.far, Src: b.mac, To: "203.0.113.5", TTL: 63, Mark: 4}, {Dst: b.far, Src: b.mac, To: "198.51.100.7", TTL: 63, Mark: 5}}
	if diff := cmp.Diff(want, seeAll(t, r.settle()["b"])); diff != "" {
		t.Error(diff)
	}
	if now := r.state.Total(); now.AllPunts() != punts.AllPunts() {
		t.Errorf("%d punts for packets to known neighbours", now.AllPunts()-punts.AllPunts())
	}
	if c := r.state.Port(b.index); c.TxPackets < 4 || c.AllDrops() != 0 {
		t.Errorf("port b: %d sent, %d dropped", c.TxPackets, c.AllDrops())
	}
}

// known is a packet to a neighbour that the router knows, to see that a batch goes on.
func known(mark byte) udp { return udp{src: "192.0.2.7", dst: "198.51.100.7", mark: mark} }

// setByte changes a frame at an offset, and mends the header checksum if asked to.
func setByte(at int, v byte, mend bool) func([]byte) []byte {
	return func(f []byte) []byte {
		f[at] = v
		if mend {
			f[24], f[25] = 0, 0
			sum := packet.Sum(f[14:34])
			f[24], f[25] = byte(sum>>8), byte(sum)
		}
		return f
	}
}

func TestBadFramesAreCountedAndTheirNeighboursInTheBatchPass(t *testing.T) {
	cut := func(n int) func([]byte) []byte { return func(f []byte) []byte { return f[:n] } }
	to := func(dst string) udp { return udp{src: "192.0.2.7", dst: dst} }
	from := func(src string) udp { return udp{src: src, dst: "198.51.100.7"} }
	changed := func(change func([]byte) []byte) udp { u := known(9); u.change = change; return u }
	for _, c := range []struct {
		name string
		bad  udp
		want dataplane.DropReason
	}{
		{"empty", changed(cut(0)), dataplane.DropRunt},
		{"an Ethernet header less a byte", changed(cut(13)), dataplane.DropRunt},
		{"half an IPv4 header", changed(cut(24)), dataplane.DropRunt},
		{"an IPv4 header less a byte", changed(cut(33)), dataplane.DropRunt},
		{"version 5", changed(setByte(14, 0x55, true)), dataplane.DropVersion},
		{"header of 16 bytes", changed(setByte(14, 0x44, true)), dataplane.DropHeaderLength},
		{"total length below the header", changed(setByte(17, 19, true)), dataplane.DropTotalLength},
		{"total length beyond the frame", changed(setByte(16, 9, true)), dataplane.DropTotalLength},
		{"cut packet", udp{src: "192.0.2.7", dst: "198.51.100.7", size: 100, change: cut(80)}, dataplane.DropTotalLength},
		{"flipped bit", changed(setByte(18, 1, false)), dataplane.DropChecksum},
		{"other station", changed(setByte(5, 77, false)), dataplane.DropOtherMAC},
		{"link-layer broadcast", changed(func(f []byte) []byte { copy(f, packet.Broadcast[:]); return f }), dataplane.DropLinkBroadcast},
		{"IPv6", changed(func(f []byte) []byte { f[12], f[13] = 0x86, 0xdd; return f }), dataplane.DropEtherType},
		{"broken ARP", changed(func(f []byte) []byte { f[12], f[13] = 8, 6; return f }), dataplane.DropARP},
		{"source 0.0.0.1", from("0.0.0.1"), dataplane.DropMartianSource},
		{"source loopback", from("127.0.0.1"), dataplane.DropMartianSource},
		{"source multicast", from("224.0.0.5"), dataplane.DropMartianSource},
		{"source class E", from("250.1.1.1"), dataplane.DropMartianSource},
		{"source link-local", from("169.254.3.4"), dataplane.DropMartianSource},
		{"destination loopback", to("127.1.2.3"), dataplane.DropMartianDestination},
		{"destination this network", to("0.1.2.3"), dataplane.DropMartianDestination},
		{"destination class E", to("240.1.2.3"), dataplane.DropMartianDestination},
		{"destination link-local", to("169.254.1.1"), dataplane.DropMartianDestination},
		{"destination multicast", to("239.1.2.3"), dataplane.DropMulticast},
		{"destination everybody", to("255.255.255.255"), dataplane.DropNoHostPath},
		{"the router itself", to("192.0.2.1"), dataplane.DropNoHostPath},
		{"no route", to("8.8.8.8"), dataplane.DropNoRoute},
		{"blackhole", to("10.1.1.1"), dataplane.DropBlackhole},
		{"unreachable", to("10.2.1.1"), dataplane.DropUnreachable},
		{"port that is not there", to("10.3.1.1"), dataplane.DropPortDown},
		{"TTL 1", udp{src: "192.0.2.7", dst: "198.51.100.7", ttl: 1}, dataplane.DropTTL},
		{"TTL 0", changed(setByte(22, 0, true)), dataplane.DropTTL},
		{"a fragment that ends beyond 65,535", udp{src: "192.0.2.7", dst: "198.51.100.7", size: 1500, change: func(f []byte) []byte {
			return setByte(20, 0x1f, true)(setByte(21, 0xff, true)(f))
		}}, dataplane.DropFragmentation},
		{"too big, don't fragment", udp{src: "192.0.2.7", dst: "198.51.100.7", size: 1500, df: true}, dataplane.DropTooBig},
		{"loose source route", udp{src: "192.0.2.7", dst: "198.51.100.7",
			options: []layers.IPv4Option{{OptionType: 131, OptionLength: 7, OptionData: []byte{4, 1, 2, 3, 4}}}}, dataplane.DropSourceRoute},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, a, b := twoPorts(t, routerOptions{})
			r.route("10.1.0.0/16", fib.NextHop{Action: fib.ActionBlackhole})
			r.route("10.2.0.0/16", fib.NextHop{Action: fib.ActionUnreachable})
			r.route("10.3.0.0/16", fib.NextHop{Action: fib.ActionForward, Port: 40, Gateway: netip.MustParseAddr("10.9.9.9")})
			a.send(known(0))
			r.settle()
			a.send(known(1), c.bad, known(2), c.bad, known(3))
			var marks []byte
			for _, s := range seeAll(t, r.settle()["b"]) {
				marks = append(marks, s.Mark)
			}
			if diff := cmp.Diff([]byte{1, 2, 3}, marks); diff != "" {
				t.Errorf("what passed: %s", diff)
			}
			total := r.state.Total()
			if total.Drops(c.want) != 2 || total.AllDrops() != 2 {
				for i := range dataplane.DropReasons {
					if n := total.Drops(dataplane.DropReason(i)); n > 0 {
						t.Errorf("%d dropped: %v, want 2: %v", n, dataplane.DropReason(i), c.want)
					}
				}
			}
			in := r.state.Port(a.index)
			if in.Drops(c.want) != 2 {
				t.Errorf("counted on another port than %s, where they came in", a.name)
			}
			_ = b
		})
	}
}

func TestFrameInSeveralBuffersIsNeverForwarded(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	a.send(known(0))
	r.settle()
	tx := a.Port.TX(0)
	for i, f := range [][]byte{a.build(known(1)), a.build(known(2)), a.build(known(3))} {
		s := tx.Slot(tx.Head())
		if !nmring.Put(tx, s, f) {
			t.Fatal("does not fit")
		}
		if i < 2 {
			s.Flags |= nmring.MoreFrag
		}
		tx.SetHead(tx.Next(tx.Head()))
	}
	a.send(known(4))
	out := seeAll(t, r.settle()["b"])
	if len(out) != 1 || out[0].Mark != 4 {
		t.Errorf("forwarded: %v", out)
	}
	if n := r.drops(dataplane.DropChain); n != 3 {
		t.Errorf("%d dropped as a chain of 3", n)
	}
}

func TestPaddingIsTrimmedAsFarAsTheFrameWasPadded(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	a.send(known(0))
	r.settle()
	for _, c := range []struct {
		name   string
		in     udp
		length int
	}{
		{"padded to the minimum", known(1), 60},
		{"padded beyond", udp{src: "192.0.2.7", dst: "198.51.100.7", change: func(f []byte) []byte { return append(f, make([]byte, 40)...) }}, 60},
		{"no padding", udp{src: "192.0.2.7", dst: "198.51.100.7", change: func(f []byte) []byte { return f[:43] }}, 43},
		{"large with a tail", udp{src: "192.0.2.7", dst: "198.51.100.7", size: 200, change: func(f []byte) []byte { return append(f, 1, 2, 3, 4) }}, 242},
	} {
		a.send(c.in)
		if out := r.settle()["b"]; len(out) != 1 || len(out[0]) != c.length {
			t.Errorf("%s: %d frames, length %d, want %d", c.name, len(out), len(out[0]), c.length)
		}
	}
}

func TestOptionsPassByTheSlowPath(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(udp{src: "192.0.2.7", dst: "203.0.113.5", mark: 5, options: []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}})
	want := []seen{{Dst: b.far, Src: b.mac, To: "203.0.113.5", TTL: 63, Mark: 5}}
	if diff := cmp.Diff(want, seeAll(t, r.settle()["b"])); diff != "" {
		t.Error(diff)
	}
}

func TestPacketsCrossBetweenRegionsByCopy(t *testing.T) {
	r := newRouter(t, routerOptions{})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{MTU: 3000})
	big := a.build(udp{src: "192.0.2.7", dst: "198.51.100.7", size: 900})
	b := r.portIn(ringtest.Region(t, 4096, 512), "b", "198.51.100.1/24", nmring.PipeOptions{}, nil)
	a.send(known(1))
	if out := seeAll(t, r.settle()["b"]); len(out) != 1 || out[0].Dst != b.far || out[0].TTL != 63 {
		t.Errorf("first packet: %v", out)
	}
	for i := range byte(100) {
		a.send(known(i))
	}
	out := seeAll(t, r.settle()["b"])
	if len(out) != 100 || out[99].Mark != 99 {
		t.Errorf("%d of 100 arrived", len(out))
	}
	a.Send(0, big)
	r.settle()
	if n := r.drops(dataplane.DropTxBuffer); n != 1 {
		t.Errorf("%d dropped because 942 bytes do not fit 512", n)
	}
}

func TestFullTransmitRingDropsOnlyWhatDoesNotFit(t *testing.T) {
	r := newRouter(t, routerOptions{})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 512})
	b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{Slots: 8})
	a.send(known(0))
	r.settle()
	for i := range byte(100) {
		a.send(known(i))
	}
	for range 5 {
		r.dp.Worker(0).Round() // the far end of b takes nothing: 7 frames fit its ring, 7 b's
	}
	out := b.Receive(0)
	out = append(out, r.settle()["b"]...)
	if full := r.drops(dataplane.DropTxFull); len(out) != 14 || full != 86 {
		t.Errorf("%d arrived, %d dropped as tx-full; 14 fit", len(out), full)
	}
}

func TestSlotLongerThanItsBufferIsNotRead(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	a.send(known(0))
	r.settle()
	a.send(known(1), known(2))
	if err := a.port.RxSync(0); err != nil {
		t.Fatal(err)
	}
	a.port.RX(0).Slot(a.port.RX(0).Head()).Len = 5000
	out := seeAll(t, r.settle()["b"])
	if len(out) != 1 || out[0].Mark != 2 || r.drops(dataplane.DropTooLong) != 1 {
		t.Errorf("%v, %d dropped as frame-too-long", out, r.drops(dataplane.DropTooLong))
	}
}

func TestFullWayToTheSlowPathIsCounted(t *testing.T) {
	r := newRouter(t, routerOptions{buffers: 16384})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 1024})
	r.port("b", "198.51.100.1/24", nmring.PipeOptions{})
	for range 800 {
		a.send(udp{src: "192.0.2.7", dst: "198.51.100.7", size: 600})
	}
	for range 8 {
		r.dp.Worker(0).Round()
	}
	punted := r.state.Total()
	r.settle()
	if got := r.drops(dataplane.DropPuntOverflow); got == 0 || got+punted.Punted[dataplane.PuntGlean] != 800 {
		t.Errorf("%d punted, %d dropped as punt-overflow of 800", punted.Punted[dataplane.PuntGlean], got)
	}
}

// A shared transmit ring whose peer was full is emptied later, though nothing new comes.
func TestFramesLeftInATransmitRingLeaveLater(t *testing.T) {
	for _, workers := range []int{1, 2} {
		r := newRouter(t, routerOptions{workers: workers})
		a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Queues: 2})
		b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{Slots: 16})
		a.send(known(0))
		r.settle()
		for i := range byte(24) {
			a.send(known(i))
		}
		for range 3 {
			r.dp.Worker(0).Round()
		}
		first := len(b.Receive(0))
		r.dp.Worker(0).Round()
		if second := len(b.Receive(0)); first != 15 || second != 9 {
			t.Errorf("%d workers: %d and %d frames, 15 fit at first", workers, first, second)
		}
		r.settle()
		r.reset()
	}
}

func TestRingsTakeTurns(t *testing.T) {
	r := newRouter(t, routerOptions{buffers: 16384})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 1024})
	c := r.port("c", "192.0.3.1/24", nmring.PipeOptions{Slots: 1024})
	b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{Slots: 1024})
	a.send(known(0))
	r.settle()
	for range 1000 {
		a.send(known(1))
	}
	c.send(udp{src: "192.0.3.7", dst: "198.51.100.7", mark: 2})
	if n := r.dp.Worker(0).Round(); n != dataplane.Batch+1 {
		t.Errorf("a round moved %d frames, want a batch of the busy ring and the one of the other", n)
	}
	out := seeAll(t, b.Receive(0))
	if len(out) != dataplane.Batch+1 || out[dataplane.Batch].Mark != 2 {
		t.Errorf("%d frames left", len(out))
	}
	r.settle()
}

func TestFlowsStayOnTheirPathWhenAnotherIsLost(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	c := r.port("c", "203.0.113.1/30", nmring.PipeOptions{})
	hops := []fib.NextHop{via(b, "198.51.100.2"), via(b, "198.51.100.3"), via(c, "203.0.113.2")}
	for i := range hops[:2] {
		hops[i].Gateway = netip.AddrFrom4([4]byte{198, 51, 100, byte(2 + i)})
	}
	group := r.route("172.16.0.0/12", hops...)
	r.settle()
	b.arp = false
	// Give the two gateways on b different MACs.
	for i := range 2 {
		b.Send(0, arpFrame(packet.ARPReply, packet.MAC{2, 2, 2, 2, 2, byte(i)}, 0xc6336402+uint32(i), b.mac, 0xc6336401))
	}
	r.settle()
	paths := func() map[byte]packet.MAC {
		for i := range byte(200) {
			a.send(udp{src: "192.0.2.7", dst: "172.16.1.1", sport: uint16(i), mark: i})
		}
		m := make(map[byte]packet.MAC)
		for _, frames := range r.settle() {
			for _, s := range seeAll(t, frames) {
				m[s.Mark] = s.Dst
			}
		}
		return m
	}
	before := paths()
	count := make(map[packet.MAC]int)
	for _, m := range before {
		count[m]++
	}
	if len(before) != 200 || len(count) != 3 || count[c.far] < 40 {
		t.Fatalf("%d flows over %v", len(before), count)
	}
	if diff := cmp.Diff(before, paths()); diff != "" {
		t.Errorf("flows moved without cause: %s", diff)
	}
	var members [fib.MaxMembers]uint16
	n := r.fib.table.Members(group, &members)
	var left []uint16
	for _, m := range members[:n] {
		if r.fib.table.NextHop(m).Port != uint16(c.index) {
			left = append(left, m)
		}
	}
	if err := r.fib.writer.SetGroup(group, left); err != nil {
		t.Fatal(err)
	}
	for mark, mac := range paths() {
		if before[mark] != c.far && before[mark] != mac {
			t.Errorf("flow %d moved from %v to %v", mark, before[mark], mac)
		}
	}
}

func TestFragmentsOfADatagramTakeOnePath(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	r.route("172.16.0.0/12", via(b, "198.51.100.2"), via(b, "198.51.100.3"), via(b, "198.51.100.4"), via(b, "198.51.100.5"))
	r.settle()
	for i := range uint32(4) {
		b.Send(0, arpFrame(packet.ARPReply, packet.MAC{2, 2, 2, 2, 2, byte(i)}, 0xc6336402+i, b.mac, 0xc6336401))
	}
	r.settle()
	moreFragments, later := setByte(20, 0x20, true), setByte(21, 0x10, true)
	for i := range byte(50) {
		dst := netip.AddrFrom4([4]byte{172, 16, 0, i}).String()
		a.send(udp{src: "192.0.2.7", dst: dst, sport: uint16(i), change: moreFragments},
			udp{src: "192.0.2.7", dst: dst, sport: uint16(i) + 77, change: later})
	}
	first := make(map[string]packet.MAC)
	for _, f := range r.settle()["b"] {
		dst, to := packet.Ethernet(f).Destination(), packet.Addr(packet.IPv4(f[14:]).Destination()).String()
		if m, ok := first[to]; ok && m != dst {
			t.Errorf("fragments to %s left for %v and %v", to, m, dst)
		}
		first[to] = dst
	}
	if len(first) != 50 {
		t.Errorf("%d of 50 datagrams", len(first))
	}
}

func TestForwardingDoesNotAllocate(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(known(0))
	r.settle()
	frame := a.build(known(1))
	w := r.dp.Worker(0)
	allocations := testing.AllocsPerRun(100, func() {
		for range 64 {
			a.TrySend(0, frame)
		}
		w.Round()
		if err := b.Port.RxSync(0); err != nil {
			t.Fatal(err)
		}
		rx := b.Port.RX(0)
		rx.SetHead(rx.Tail())
	})
	if allocations != 0 {
		t.Errorf("%v allocations a round of 64 packets", allocations)
	}
	r.settle()
}

// In steady state nothing in the process allocates: not the worker, and not the slow path
// with its ICMP errors, ARP and timers.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(known(0))
	r.settle()
	frames := [][]byte{a.build(known(1)), a.build(udp{src: "192.0.2.7", dst: "198.51.100.7", ttl: 1}),
		arpFrame(packet.ARPRequest, a.far, 0xc0000207, packet.MAC{}, 0xc0000201)}
	w := r.dp.Worker(0)
	turn := func() {
		for _, f := range frames {
			a.TrySend(0, f)
		}
		w.Round()
		r.dp.Step(r.now)
		w.Round()
		for _, p := range []*nmring.PipePort{a.Port, b.Port} {
			if err := p.RxSync(0); err != nil {
				t.Fatal(err)
			}
			rx := p.RX(0)
			rx.SetHead(rx.Tail())
		}
	}
	turn()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 5000 {
		turn()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 50 { // the test's own process has other goroutines
		t.Errorf("%d heap objects in 5000 turns of a worker and the slow path", n)
	}
	r.settle()
}
