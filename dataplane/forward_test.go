package dataplane_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"routerd/nmring"
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
