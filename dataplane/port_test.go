package dataplane_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routerd/dataplane"
	"routerd/nmring"
	"routerd/nmring/ringtest"
)

func TestLinkDownStopsTheWayAtOnceAndUpOpensItAgain(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	behind := udp{src: "192.0.2.7", dst: "203.0.113.5"}
	a.send(known(1), behind)
	r.settle()
	b.arp = false
	a.send(udp{src: "192.0.2.7", dst: "198.51.100.30"}, udp{src: "192.0.2.7", dst: "198.51.100.30"})
	r.settle()
	b.port.SetLink(false)
	r.settle()
	if n := r.drops(dataplane.DropPortDown); n != 2 {
		t.Errorf("%d of 2 held packets dropped as port-down", n)
	}
	a.send(known(2), behind, known(3))
	if out := r.settle()["b"]; len(out) != 0 {
		t.Errorf("%d frames left by a port that is down", len(out))
	}
	if n := r.drops(dataplane.DropPortDown); n != 5 {
		t.Errorf("%d dropped as port-down", n)
	}
	if all := r.dp.Neighbors(); slices.ContainsFunc(all, func(n dataplane.NeighborInfo) bool { return n.Port == b.index }) {
		t.Errorf("neighbours of a port that is down: %+v", all)
	}
	b.port.SetLink(true)
	r.settle()
	b.arp = true
	a.send(known(4), behind)
	r.settle()
	r.pass(1_000_000_000)
	a.send(known(5), behind)
	if out := r.settle()["b"]; len(out) != 2 {
		t.Errorf("%d of 2 left after the link came up", len(out))
	}
}

func TestRemovedPortLetsGoOfItsRingsAndNothingElse(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	c := r.port("c", "10.5.0.1/24", nmring.PipeOptions{})
	a.send(known(1))
	r.settle()
	if err := b.port.RX(0).Acquire("somebody"); !errors.Is(err, nmring.ErrOwned) {
		t.Errorf("while forwarding: %v", err)
	}
	a.send(known(2), known(3), udp{src: "192.0.2.7", dst: "10.5.0.7", mark: 4})
	if err := r.dp.RemovePort(b.index); err != nil {
		t.Fatal(err)
	}
	for _, ring := range []*nmring.Ring{b.port.RX(0), b.port.TX(0)} {
		if err := ring.Acquire("somebody"); err != nil {
			t.Errorf("after RemovePort: %v", err)
		}
		ring.Release()
	}
	out := r.settle()
	if len(out["b"]) != 0 || len(out["c"]) != 1 || r.drops(dataplane.DropPortDown) != 2 {
		t.Errorf("%d left by b, %d by %s, %d dropped", len(out["b"]), len(out["c"]), c.name, r.drops(dataplane.DropPortDown))
	}
	if err := r.dp.RemovePort(b.index); !errors.Is(err, dataplane.ErrPort) {
		t.Errorf("removed twice: %v", err)
	}
	if err := r.dp.AddPort(b.index, "b2", b.port, 1500, []netip.Prefix{netip.MustParsePrefix("198.51.100.1/24")}); err != nil {
		t.Fatal(err)
	}
	a.send(known(5))
	if out := seeAll(t, r.settle()["b"]); len(out) != 1 || out[0].Mark != 5 {
		t.Errorf("after it was added again: %v", out)
	}
}

func TestPortNumbersAreChecked(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	spare, _ := ringtest.NewWire(t, "spare", ringtest.Region(t, 64, 2176), nmring.PipeOptions{Slots: 8, MAC: [6]byte{2, 1}})
	nobody, _ := ringtest.NewWire(t, "nobody", ringtest.Region(t, 64, 2176), nmring.PipeOptions{Slots: 8})
	for _, c := range []struct {
		name string
		call func() error
		want string
	}{
		{"negative", func() error { return r.dp.AddPort(-1, "x", spare, 1500, nil) }, `dataplane: port "x": no such port: number -1, 0 to 63 are possible`},
		{"too high", func() error { return r.dp.AddPort(64, "x", spare, 1500, nil) }, `dataplane: port "x": no such port: number 64, 0 to 63 are possible`},
		{"taken", func() error { return r.dp.AddPort(0, "x", spare, 1500, nil) }, `dataplane: port "x": no such port: number 0 is taken by "a"`},
		{"rings taken", func() error { return r.dp.AddPort(9, "x", a.port, 1500, nil) }, `dataplane: port "x": receive queue 0: ring 0: ring already has an owner: worker 0`},
		{"no MAC", func() error { return r.dp.AddPort(9, "x", nobody, 1500, nil) }, `dataplane: port "x": 00:00:00:00:00:00 is no station's MAC address`},
		{"unknown", func() error { return r.dp.SetMTU(9, 1500) }, `dataplane: port 9: no such port`},
	} {
		if err := c.call(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
	// A refused port keeps none of the rings.
	if err := spare.RX(0).Acquire("test"); err != nil {
		t.Error(err)
	}
}

func TestSmallerMTUHoldsAtOnce(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	behind := udp{src: "192.0.2.7", dst: "203.0.113.5", size: 1300, df: true}
	direct := udp{src: "192.0.2.7", dst: "198.51.100.7", size: 1300, df: true}
	a.send(behind, direct)
	if out := r.settle()["b"]; len(out) != 2 {
		t.Fatalf("%d of 2 passed an MTU of 1500", len(out))
	}
	if err := r.dp.SetMTU(b.index, 1280); err != nil {
		t.Fatal(err)
	}
	a.send(behind, direct)
	want := []string{"3/4 mtu 1280 from 192.0.2.1 to 192.0.2.7 about 203.0.113.5", "3/4 mtu 1280 from 192.0.2.1 to 192.0.2.7 about 198.51.100.7"}
	if diff := cmp.Diff(want, errorsIn(t, r.settle()["a"])); diff != "" {
		t.Error(diff)
	}
}

func TestChangedAddressesKeepGatewaysAndForgetOthers(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{})
	a.send(known(1))
	r.settle()
	if err := r.dp.SetAddresses(b.index, []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")}); err != nil {
		t.Fatal(err)
	}
	r.expectState("198.51.100.9", dataplane.Reachable)
	if n := r.neighbor("198.51.100.7"); n.Address.IsValid() {
		t.Errorf("not on a subnet of the port any more: %+v", n)
	}
}

func TestHostPath(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	up := new(host)
	h := r.portIn(r.region, "h", "10.5.0.1/24", nmring.PipeOptions{}, up)
	ipv6 := h.build(udp{src: "10.5.0.7", dst: "10.5.0.1"})
	ipv6[12], ipv6[13] = 0x86, 0xdd
	bgp := h.build(udp{src: "10.5.0.7", dst: "10.5.0.1", ttl: 1})
	ospf := h.build(udp{src: "10.5.0.7", dst: "224.0.0.5"})
	copy(ospf, []byte{1, 0, 0x5e, 0, 0, 5})
	h.Send(0, ipv6, ospf, bgp, h.build(udp{src: "10.5.0.7", dst: "192.0.2.1", mark: 9}))
	r.settle()
	if len(up.got) != 4 {
		t.Fatalf("the host got %d of 4 frames", len(up.got))
	}
	if diff := cmp.Diff([][]byte{ipv6, ospf, bgp}, up.got[:3]); diff != "" {
		t.Errorf("the host did not get what came: %s", diff)
	}
	up.full = true
	h.Send(0, bgp)
	r.settle()
	if n := r.drops(dataplane.DropHostQueue); n != 1 {
		t.Errorf("%d dropped as host-queue-full", n)
	}
	sent := a.build(known(1))
	r.dp.Events(h.index).FromHost(sent)
	if diff := cmp.Diff([][]byte{sent}, r.settle()["h"]); diff != "" {
		t.Errorf("what the host sends leaves as it is: %s", diff)
	}
}

func TestRingErrorOfAGonePortTakesItsWaysDown(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	far, _ := ringtest.NewWire(t, "gone", r.region, nmring.PipeOptions{MAC: [6]byte{2, 0, 0, 0, 1, 5}})
	g := &gonePort{PipePort: far}
	if err := r.dp.AddPort(5, "gone", g, 1500, nil); err != nil {
		t.Fatal(err)
	}
	r.route("172.16.0.0/12", via(&wire{index: 5}, "10.0.0.1"))
	r.settle()
	if n := r.neighbor("10.0.0.1"); n.State != dataplane.Incomplete || n.PortName != "gone" {
		t.Errorf("before: %+v", n)
	}
	g.gone = true
	r.settle()
	a.send(udp{src: "192.0.2.7", dst: "172.16.0.1"})
	r.settle()
	if n := r.drops(dataplane.DropPortDown); n != 1 {
		t.Errorf("%d dropped as port-down", n)
	}
}

type gonePort struct {
	*nmring.PipePort
	gone bool
}

func (g *gonePort) RxSync(q int) error {
	if g.gone {
		return nmring.ErrGone
	}
	return g.PipePort.RxSync(q)
}

// Two workers, and ports with 3, 2 and 1 queues: every receive queue is served, and the
// single transmit queue is shared.
func TestWorkersServeAllQueues(t *testing.T) {
	r := newRouter(t, routerOptions{workers: 2})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Queues: 3, Slots: 64})
	r.port("b", "198.51.100.1/24", nmring.PipeOptions{Queues: 2, Slots: 64})
	c := r.port("c", "203.0.113.1/24", nmring.PipeOptions{Queues: 1, Slots: 256})
	a.send(known(0), udp{src: "192.0.2.7", dst: "203.0.113.7"})
	r.settle()
	for q := range 3 {
		for i := range byte(10) {
			a.Send(q, a.build(known(i)), a.build(udp{src: "192.0.2.7", dst: "203.0.113.7", mark: i}))
		}
	}
	out := r.settle()
	if len(out["b"]) != 30 || len(out["c"]) != 30 {
		t.Errorf("%d and %d of 30 frames from three queues", len(out["b"]), len(out["c"]))
	}
	for w, want := range []uint64{40 + 2, 20} {
		got := r.state.WorkerPort(w, a.index)
		if got.RxPackets != want {
			t.Errorf("worker %d received %d, want %d", w, got.RxPackets, want)
		}
	}
	if c0, c1 := r.state.WorkerPort(0, c.index), r.state.WorkerPort(1, c.index); c0.TxPackets == 0 || c1.TxPackets != 10 {
		t.Errorf("worker 0 sent %d, worker 1 %d by the shared queue", c0.TxPackets, c1.TxPackets)
	}

}
