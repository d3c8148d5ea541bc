// Package ringtest drives the far end of a pipe port in tests: a Wire puts frames on it
// and takes off what comes. A Wire belongs to one goroutine.
package ringtest

import (
	"testing"

	"routerd/nmring"
)

// Region makes a region of count buffers of stride bytes in ordinary memory.
func Region(t testing.TB, count, stride int) *nmring.Region {
	t.Helper()
	r, err := nmring.NewRegion(make([]byte, count*stride), stride)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Wire is the test's end of a pipe.
type Wire struct {
	t    testing.TB
	Port *nmring.PipePort
}

// NewWire makes a pipe and returns the port for the router and the test's end, both with
// buffers of region.
func NewWire(t testing.TB, name string, region *nmring.Region, opt nmring.PipeOptions) (*nmring.PipePort, *Wire) {
	t.Helper()
	port, far, err := nmring.NewPipe(name, region, name+" far end", region, opt)
	if err != nil {
		t.Fatal(err)
	}
	return port, &Wire{t: t, Port: far}
}

// Send puts frames on queue q, and fails the test when they do not fit.
func (w *Wire) Send(q int, frames ...[]byte) {
	w.t.Helper()
	if n := w.TrySend(q, frames...); n != len(frames) {
		w.t.Fatalf("wire: %d of %d frames fit", n, len(frames))
	}
}

// TrySend puts as many frames on queue q as fit and returns their number.
func (w *Wire) TrySend(q int, frames ...[]byte) int {
	w.t.Helper()
	tx := w.Port.TX(q)
	sent := 0
	for _, f := range frames {
		if tx.Space() == 0 {
			break
		}
		h := tx.Head()
		if !nmring.Put(tx, tx.Slot(h), f) {
			w.t.Fatalf("wire: frame of %d bytes does not fit a buffer", len(f))
		}
		tx.SetHead(tx.Next(h))
		sent++
	}
	if err := w.Port.TxSync(q); err != nil {
		w.t.Fatal(err)
	}
	return sent
}

// Receive takes copies of all frames that wait on queue q.
func (w *Wire) Receive(q int) [][]byte {
	w.t.Helper()
	if err := w.Port.RxSync(q); err != nil {
		w.t.Fatal(err)
	}
	rx := w.Port.RX(q)
	var frames [][]byte
	for h := rx.Head(); h != rx.Tail(); h = rx.Next(h) {
		frames = append(frames, append([]byte(nil), rx.Frame(h)...))
		rx.SetHead(rx.Next(h))
	}
	if err := w.Port.RxSync(q); err != nil {
		w.t.Fatal(err)
	}
	return frames
}
