//go:build linux

package afxdp

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"routerd/nmring"
)

// pending reads a frame of ours from the wire if one has come.
func (w *wire) pending(buf []byte) (uint32, []byte, bool) {
	for {
		n, _, err := unix.Recvfrom(w.fd, buf, unix.MSG_DONTWAIT)
		if err != nil {
			return 0, nil, false
		}
		if seq, ok := sequence(buf[:n]); ok {
			return seq, buf[:n], true
		}
	}
}

func TestForwardBothWaysInOrder(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	layVeth(t, "xb", "pb", 1)
	d := newDriver(t, t.TempDir())
	free := d.Region().Available()
	a := openPort(t, d, "xa", OpenOptions{Slots: 256})
	b := openPort(t, d, "xb", OpenOptions{Slots: 128})
	const frames, batch = 20_000, 50
	type direction struct {
		from, to *wire
		in, out  *Port
		mac      [6]byte
		seen     uint32
	}
	wa, wb := newWire(t, "pa"), newWire(t, "pb")
	ways := []*direction{
		{from: wa, to: wb, in: a, out: b, mac: a.Info().MAC},
		{from: wb, to: wa, in: b, out: a, mac: b.Info().MAC},
	}
	buf := make([]byte, 4096)
	for first := uint32(0); first < frames; first += batch {
		for _, w := range ways {
			for seq := first; seq < first+batch; seq++ {
				w.from.send(udp(w.mac, [6]byte{2, 0, 0, 0, 0, 1}, transit, seq, int(20+seq%1400)))
			}
		}
		for _, w := range ways {
			for w.seen < first+batch {
				moved, err := forward(w.in, w.out, 0)
				must(t, err)
				if moved == 0 && w.out.TX(0).Space() == 127 {
					awaitFrames(t, w.in, 0)
				}
				for {
					seq, f, ok := w.to.pending(buf)
					if !ok {
						break
					}
					want := udp(w.mac, [6]byte{2, 0, 0, 0, 0, 1}, transit, seq, int(20+seq%1400))
					if seq != w.seen || !bytes.Equal(f, want) {
						t.Fatalf("frame %d came as %d, right content %v", w.seen, seq, bytes.Equal(f, want))
					}
					w.seen++
				}
			}
		}
	}
	must(t, a.Close())
	must(t, b.Close())
	if got := d.Region().Available(); got != free {
		t.Errorf("%d buffers free after Close, %d before", got, free)
	}
}

func TestEveryQueueReceivesAndSends(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 2)
	d := newDriver(t, t.TempDir())
	p := openPort(t, d, "xa", OpenOptions{Queues: 2, Slots: 512})
	if p.Queues() != 2 {
		t.Fatalf("%d queues, want 2", p.Queues())
	}
	w := newWire(t, "pa")
	must(t, unix.SetsockoptInt(w.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 0)) // choose the queue by flow, not by CPU
	const frames = 256
	for seq := range uint32(frames) {
		w.send(udp(p.Info().MAC, macOf(t, "pa"), transit, seq, 40))
	}
	seen, sent := make(map[uint32]bool), 0
	perQueue := make([]int, 2)
	for len(seen) < frames {
		for q := range 2 {
			must(t, p.RxSync(q))
			rx, tx := p.RX(q), p.TX(q)
			for rx.Space() > 0 {
				seq, ok := sequence(rx.Frame(rx.Head()))
				if !ok || seen[seq] {
					t.Fatalf("queue %d: frame % x is foreign or came twice", q, rx.Frame(rx.Head()))
				}
				seen[seq] = true
				perQueue[q]++
				sent++
				nmring.Move(rx, rx.Slot(rx.Head()), tx, tx.Slot(tx.Head()))
				rx.SetHead(rx.Next(rx.Head()))
				tx.SetHead(tx.Next(tx.Head()))
			}
			must(t, p.TxSync(q))
		}
	}
	if perQueue[0] == 0 || perQueue[1] == 0 {
		t.Errorf("frames for each queue: %v, want some on both", perQueue)
	}
	buf := make([]byte, 4096)
	for range sent {
		if _, _, ok := w.pending(buf); !ok {
			w.receive(func(f []byte) bool { _, ok := sequence(f); return ok })
		}
	}
}

func TestFullRingKeepsWhatItHas(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	w := newWire(t, "pa")
	for seq := range uint32(200) {
		w.send(udp(p.Info().MAC, macOf(t, "pa"), transit, seq, 40))
	}
	rx := p.RX(0)
	next := uint32(0)
	for next < 64 {
		awaitFrames(t, p, 0)
		if n := rx.Space(); n > 63 {
			t.Fatalf("%d frames shown of a ring of 64 slots", n)
		}
		for ; rx.Space() > 0; next++ {
			if seq, ok := sequence(rx.Frame(rx.Head())); !ok || seq != next {
				t.Fatalf("frame %d shows as %d", next, seq)
			}
			rx.SetHead(rx.Next(rx.Head()))
		}
	}
	must(t, p.RxSync(0))
	lost := uint64(0)
	for _, c := range p.Counters(0) {
		if c.Name == "rx_dropped" || c.Name == "rx_fill_ring_empty_descs" || c.Name == "rx_ring_full" {
			lost += c.Value
		}
	}
	if lost == 0 {
		t.Errorf("frames were lost and no counter says so: %v", p.Counters(0))
	}
	w.send(udp(p.Info().MAC, macOf(t, "pa"), transit, 999, 40))
	awaitFrames(t, p, 0)
	if seq, _ := sequence(rx.Frame(rx.Head())); seq != 999 {
		t.Errorf("after the ring was full frame %d came, want 999", seq)
	}
}

func TestCloseFreesFramesInFlight(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	free := d.Region().Available()
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	w := newWire(t, "pa")
	for seq := range uint32(20) {
		w.send(udp(p.Info().MAC, macOf(t, "pa"), transit, seq, 40))
	}
	awaitFrames(t, p, 0)
	// A call that never gets through keeps the frames in the transmit ring.
	p.queues[0].tx.wake = func() error { return unix.ENOBUFS }
	if moved, err := forward(p, p, 0); err != nil || moved == 0 {
		t.Fatalf("moved %d, %v", moved, err)
	}
	if p.queues[0].tx.kernel.len() == 0 {
		t.Fatal("no frame is in flight")
	}
	must(t, p.Close())
	if got := d.Region().Available(); got != free {
		t.Errorf("%d buffers free after Close, %d before", got, free)
	}
}

func TestSyncsOfSocketsDoNotAllocate(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	w := newWire(t, "pa")
	frame := udp(p.Info().MAC, macOf(t, "pa"), transit, 1, 40)
	moved := 0
	n := testing.AllocsPerRun(500, func() {
		_, _ = unix.Write(w.fd, frame)
		m, err := forward(p, p, 0)
		if err != nil {
			t.Fatal(err)
		}
		moved += m
	})
	if n != 0 || moved == 0 {
		t.Errorf("%v allocations a round, %d frames moved", n, moved)
	}
}
