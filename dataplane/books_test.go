package dataplane_test

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/nmring"
)

// Whatever comes, in whatever order with links, addresses, routes and time: every frame is
// accounted for after each step (settle checks), and nothing is held for ever.
func TestBooksBalanceUnderRandomTraffic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRouter(t, routerOptions{workers: rapid.IntRange(1, 3).Draw(rt, "workers"), burst: 5, buffers: 1024})
		defer r.reset()
		up := new(host)
		a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Slots: 64, Queues: 2})
		b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{Slots: 16, MTU: 600})
		h := r.portIn(r.region, "h", "10.5.0.1/24", nmring.PipeOptions{Slots: 32}, up)
		r.route("203.0.113.0/24", via(b, "198.51.100.9"), via(h, "10.5.0.9"))
		r.route("10.1.0.0/16", fib.NextHop{Action: fib.ActionBlackhole})
		r.route("10.2.0.0/16", fib.NextHop{Action: fib.ActionUnreachable})
		ports := []*wire{a, b, h}
		addresses := []string{"192.0.2.7", "198.51.100.7", "198.51.100.8", "203.0.113.1", "203.0.113.2", "10.5.0.7",
			"10.1.1.1", "10.2.1.1", "8.8.8.8", "192.0.2.1", "127.0.0.1", "224.0.0.9"}
		address := rapid.SampledFrom(addresses)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w := rapid.SampledFrom(ports).Draw(rt, "port")
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				w.port.SetLink(rapid.Bool().Draw(rt, "up"))
			case 1:
				w.arp = rapid.Bool().Draw(rt, "answers")
			case 2:
				r.pass(time.Duration(rapid.IntRange(1, 40).Draw(rt, "seconds")) * time.Second)
			case 3:
				up.full = !up.full
			case 4:
				sender := packet.FromAddr(netip.MustParseAddr(address.Draw(rt, "sender")))
				op := uint16(rapid.IntRange(1, 2).Draw(rt, "op"))
				w.TrySend(0, arpFrame(op, packet.MAC{2, 7, 7, 7, 7, 7}, sender, w.mac, packet.FromAddr(w.addr)))
			case 5:
				if err := r.dp.SetMTU(w.index, rapid.IntRange(576, 1500).Draw(rt, "mtu")); err != nil {
					rt.Fatal(err)
				}
			default:
				for range rapid.IntRange(1, 30).Draw(rt, "packets") {
					u := udp{src: address.Draw(rt, "src"), dst: address.Draw(rt, "dst"), df: rapid.Bool().Draw(rt, "df"),
						ttl: rapid.SampledFrom([]uint8{1, 2, 64}).Draw(rt, "ttl"), size: rapid.SampledFrom([]int{1, 100, 800}).Draw(rt, "size")}
					frame := w.build(u)
					if rapid.IntRange(0, 5).Draw(rt, "broken") == 0 {
						frame[rapid.IntRange(0, 40).Draw(rt, "at")] ^= rapid.Byte().Draw(rt, "bits")
					}
					w.TrySend(0, frame)
				}
			}
			r.settle()
		}
		r.pass(10 * time.Second)
		if all, _ := r.dp.Held(); all != 0 {
			rt.Fatalf("%d packets are held for ever", all)
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// outliving is the TB of what is made once for all inputs of a fuzz target.
type outliving struct{ testing.TB }

func (outliving) Helper() {}

// FuzzRouter gives arbitrary frames to a whole router.
func FuzzRouter(f *testing.F) {
	r := newRouter(outliving{f}, routerOptions{})
	up := new(host)
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{})
	b := r.portIn(r.region, "b", "198.51.100.1/24", nmring.PipeOptions{}, up)
	r.route("0.0.0.0/0", via(b, "198.51.100.9"), via(a, "192.0.2.9"))
	f.Add(a.build(known(1)), uint8(0))
	f.Add(a.build(udp{src: "192.0.2.7", dst: "203.0.113.5", ttl: 1}), uint8(1))
	f.Add(arpFrame(packet.ARPReply, a.far, 0xc0000207, a.mac, 0xc0000201), uint8(2))
	f.Add([]byte{}, uint8(3))
	f.Fuzz(func(t *testing.T, frame []byte, how uint8) {
		r.t = t
		if len(frame) > nmring.Stride {
			frame = frame[:nmring.Stride]
		}
		frame = append([]byte(nil), frame...)
		if how&1 != 0 && len(frame) >= 34 { // get past the address and the checksum
			copy(frame, a.mac[:])
			frame[12], frame[13] = 8, 0
			frame = setByte(22, frame[22], how&2 != 0)(frame)
		}
		from := a
		if how&4 != 0 {
			from = b
			if how&1 != 0 && len(frame) >= 6 {
				copy(frame, b.mac[:])
			}
		}
		from.TrySend(0, frame)
		up.got = nil
		r.now = r.now.Add(time.Duration(how) * 10 * time.Millisecond)
		r.settle()
	})
}
