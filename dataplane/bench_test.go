package dataplane_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
	"routerd/fib/realtable"
	"routerd/nmring"
)

// loopPort is a NIC whose cable leads back into itself: what is sent is received, with
// the next destination of a stream, a fresh TTL and the checksum that goes with them.
type loopPort struct {
	nmring.Port
	rx, tx *nmring.Ring
	taken  uint32 // next transmit slot to carry over
	mac    packet.MAC
	stream []uint32
	at     int
	rewind bool // keep the destination, renew the TTL
}

func newLoop(b *testing.B, region *nmring.Region, mac packet.MAC, slots, frames int) *loopPort {
	b.Helper()
	p := &loopPort{mac: mac}
	var err error
	if p.rx, err = nmring.NewRing(make([]byte, nmring.RingBytes(slots)), region, 0, nmring.Receive, slots); err != nil {
		b.Fatal(err)
	}
	if p.tx, err = nmring.NewRing(make([]byte, nmring.RingBytes(slots)), region, 0, nmring.Transmit, slots); err != nil {
		b.Fatal(err)
	}
	frame := make([]byte, packet.MinFrame)
	packet.Ethernet(frame).Encode(mac, packet.MAC{2}, packet.TypeIPv4)
	packet.IPv4(frame[packet.EthernetLen:46]).Encode(packet.IPv4Fields{TTL: 64, Protocol: packet.ProtoUDP, Source: 0xc6336407})
	for range frames {
		nmring.Put(p.tx, p.tx.Slot(p.tx.Head()), frame)
		p.tx.SetHead(p.tx.Next(p.tx.Head()))
	}
	return p
}

func (p *loopPort) Queues() int         { return 1 }
func (p *loopPort) RX(int) *nmring.Ring { return p.rx }
func (p *loopPort) TX(int) *nmring.Ring { return p.tx }
func (p *loopPort) PollFD(int) int      { return -1 }
func (p *loopPort) Host() nmring.Host   { return nil }
func (p *loopPort) Info() nmring.Info   { return nmring.Info{MAC: p.mac, Up: true} }
func (p *loopPort) TxSync(int) error    { return p.carry() }
func (p *loopPort) RxSync(int) error    { return p.carry() }

func (p *loopPort) carry() error {
	rx, tx := p.rx, p.tx
	end, tail := tx.Head(), rx.Tail()
	full := rx.Add(rx.Head(), rx.Slots()-1)
	for ; p.taken != end && tail != full; p.taken = tx.Next(p.taken) {
		s := rx.Slot(tail)
		nmring.Move(tx, tx.Slot(p.taken), rx, s)
		p.renew(rx.Region().Buffer(s.BufIdx))
		tail = rx.Next(tail)
	}
	rx.SetTail(tail)
	tx.SetTail(tx.Add(p.taken, tx.Slots()-1))
	return nil
}

// bounce sends up to most frames as they came.
func (p *loopPort) bounce(most uint32) int {
	_ = p.carry()
	n := min(p.rx.Space(), p.tx.Space(), most)
	from, to := p.rx.Head(), p.tx.Head()
	for range n {
		nmring.Move(p.rx, p.rx.Slot(from), p.tx, p.tx.Slot(to))
		from, to = p.rx.Next(from), p.tx.Next(to)
	}
	p.rx.SetHead(from)
	p.tx.SetHead(to)
	return int(n)
}

// renew makes a frame the next one of the stream; rest is the sum of its other words.
func (p *loopPort) renew(frame []byte) {
	copy(frame[0:6], p.mac[:])
	if p.rewind {
		word := binary.BigEndian.Uint16(frame[22:])
		binary.BigEndian.PutUint16(frame[24:], packet.Update(binary.BigEndian.Uint16(frame[24:]), word, 64<<8|word&0xff))
		frame[22] = 64
		return
	}
	dst := p.stream[p.at]
	if p.at++; p.at == len(p.stream) {
		p.at = 0
	}
	const rest = 0x4500 + 32 + 0x4000 + uint32(packet.ProtoUDP) + 0xc633 + 0x6407
	sum := rest + dst>>16 + dst&0xffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	frame[22] = 64
	binary.BigEndian.PutUint16(frame[24:], ^uint16(sum))
	binary.BigEndian.PutUint32(frame[30:], dst)
}

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
func benchRouter(b *testing.B) (*router, []*loopPort, []netip.Prefix) {
	b.Helper()
	const ports, slots, frames, hops = 4, 1024, 240, 64
	prefixes, err := realtable.Prefixes()
	if err != nil {
		b.Skip(err)
	}
	r := newRouter(b, routerOptions{buffers: 2*ports*slots + 64})
	var loops []*loopPort
	for i := range ports {
		p := newLoop(b, r.region, packet.MAC{2, 0, 0, 0, 1, byte(i)}, slots, frames)
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
			p.stream, p.at = stream, i*len(stream)/len(loops)
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
		for _, p := range loops {
			p.rewind = true
		}
		for moved := 0; moved < b.N; {
			moved += w.Round()
		}
		report(b)
		for _, p := range loops {
			p.rewind = false
		}
	})
	b.Run("base", func(b *testing.B) {
		use(all["pfx"])
		for moved := 0; moved < b.N; {
			for _, p := range loops {
				moved += p.bounce(dataplane.Batch)
			}
		}
		report(b)
	})
	c := r.state.Total()
	if c.AllDrops() != 0 {
		b.Errorf("%d packets dropped", c.AllDrops())
	}
}
