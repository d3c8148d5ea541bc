//go:build linux

package afxdp

import (
	"bytes"
	"net/netip"
	"testing"

	"routerd/nmring"
)

var transit = netip.MustParseAddr("203.0.113.77")

func TestFramesArriveAndLeave(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	free := d.Region().Available()
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	w := newWire(t, "pa")
	t.Log(d.umem.stride, d.umem.memory.how, p.Info())

	sent := udp(p.Info().MAC, macOf(t, "pa"), transit, 7, 40)
	w.send(sent)
	awaitFrames(t, p, 0)
	rx := p.RX(0)
	if got := rx.Frame(rx.Head()); !bytes.Equal(got, sent) {
		t.Fatalf("got % x\nwant % x", got, sent)
	}
	rx.SetHead(rx.Next(rx.Head()))

	back := udp(macOf(t, "pa"), p.Info().MAC, transit, 8, 60)
	tx := p.TX(0)
	if !nmring.Put(tx, tx.Slot(tx.Head()), back) {
		t.Fatal("the frame does not fit")
	}
	tx.SetHead(tx.Next(tx.Head()))
	must(t, p.TxSync(0))
	w.receive(func(f []byte) bool { return bytes.Equal(f, back) })
	must(t, p.Close())
	if got := d.Region().Available(); got != free {
		t.Errorf("%d buffers free after Close, %d before", got, free)
	}
}
