package dataplane_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/fib/realtable"
	"routerd/nmring"
	"routerd/nmring/loopback"
)

// streams are destinations as the facts file names them: uniform over the table's
// prefixes, few flows, and uniform over all addresses that may be routed.
func streams(prefixes []netip.Prefix) map[string][]uint32 {
	const n = 1 << 20
	random := rand.New(rand.NewPCG(1, 2))
	pfx, few, rnd := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	routable := func(a uint32) bool {
		first := a >> 24
		return first != 0 && first != 127 && first < 224 && first != 169
	}
	for i := range n {
		for pfx[i] == 0 || !routable(pfx[i]) {
			p := prefixes[random.IntN(len(prefixes))]
			pfx[i] = packet.FromAddr(p.Addr()) | random.Uint32()>>p.Bits()
		}
		for rnd[i] == 0 || !routable(rnd[i]) {
			rnd[i] = random.Uint32()
		}
		few[i] = pfx[i%16]
	}
	return map[string][]uint32{"pfx": pfx, "few": few, "rnd": rnd}
}

// benchRouter is a router with one worker, four looped-back ports, the real table over 64
// next hops, and a default route for the rest.
func benchRouter(b *testing.B) (*router, []*loopback.Port, []netip.Prefix) {
	b.Helper()
	const ports, slots, frames, hops = 4, 1024, 240, 64
	prefixes, err := realtable.Prefixes()
	if err != nil {
		b.Skip(err)
	}
	r := newRouter(b, routerOptions{})
	region, err := nmring.NewRegion(loopback.Memory((2*ports*slots+nmring.FirstBuffer)*nmring.Stride), nmring.Stride)
	if err != nil {
		b.Fatal(err)
	}
	var loops []*loopback.Port
	for i := range ports {
		p, err := loopback.New(region, loopback.Options{MAC: packet.MAC{2, 0, 0, 0, 1, byte(i)}, Queues: 1,
			Slots: slots, Frames: frames, Burst: dataplane.Batch})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.dp.AddPort(i, "loop", p, 1500, nil); err != nil {
			b.Fatal(err)
		}
		loops = append(loops, p)
	}
	var groups []uint16
	for i := range hops {
		gateway := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		prefix := netip.PrefixFrom(gateway, 32).String()
		if i == 0 {
			prefix = "0.0.0.0/0"
		}
		groups = append(groups, r.route(prefix, fib.NextHop{Action: fib.ActionForward, Port: uint16(i % ports), Gateway: gateway}))
		r.dp.Events(i % ports).Overheard(arpFrame(packet.ARPReply, packet.MAC{2, 1, 1, 1, 1, byte(i)},
			packet.FromAddr(gateway), packet.MAC{2}, 0))
	}
	r.dp.Step(r.now)
	for i, p := range prefixes {
		if err := r.fib.writer.Set(p, groups[(uint32(i)*0x9e3779b1)>>26]); err != nil {
			b.Fatal(err)
		}
		r.routes[p] = true
	}
	return r, loops, prefixes
}

// BenchmarkForward is the whole loop of one worker. Base is the same without forwarding:
// what the rings and the generator cost; fixed has 960 packets that never change, which
// gather in the rings of their own way out.
func BenchmarkForward(b *testing.B) {
	r, loops, prefixes := benchRouter(b)
	all := streams(prefixes)
	w := r.dp.Worker(0)
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpps")
	}
	use := func(stream []uint32) {
		for i, p := range loops {
			p.SetStream(0, stream, i*len(stream)/len(loops))
		}
	}
	use(all["pfx"])
	for range 100 {
		w.Round()
		r.dp.Step(r.now)
	}
	for _, name := range []string{"pfx", "rnd", "few"} {
		b.Run(name, func(b *testing.B) {
			use(all[name])
			for moved := 0; moved < b.N; {
				n := w.Round()
				if moved += n; n == 0 {
					b.Fatal("no frames are left")
				}
			}
			report(b)
		})
	}
	b.Run("fixed", func(b *testing.B) {
		use(nil)
		for moved := 0; moved < b.N; {
			moved += w.Round()
		}
		report(b)
	})
	b.Run("base", func(b *testing.B) {
		use(all["pfx"])
		for moved := 0; moved < b.N; {
			for _, p := range loops {
				moved += p.Bounce(0)
			}
		}
		report(b)
	})
	c := r.state.Total()
	if c.AllDrops() != 0 {
		b.Errorf("%d packets dropped", c.AllDrops())
	}
}
