//go:build linux

package rib

import (
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"routerd/fib"
	"routerd/fib/realtable"
)

// timedWriter notes the last repair of a group before the first prefix is touched:
// then the traffic of all prefixes has moved.
type timedWriter struct {
	*fib.Writer
	prefixes bool
	moved    time.Time
}

func (w *timedWriter) SetGroup(g uint16, members []uint16) error {
	err := w.Writer.SetGroup(g, members)
	if !w.prefixes {
		w.moved = time.Now()
	}
	return err
}

func (w *timedWriter) Set(p netip.Prefix, g uint16) error {
	w.prefixes = true
	return w.Writer.Set(p, g)
}

func (w *timedWriter) Delete(p netip.Prefix) (bool, error) {
	w.prefixes = true
	return w.Writer.Delete(p)
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// cpuTime is what the process has used so far, garbage collection included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func newWriter(tb testing.TB) *timedWriter {
	tb.Helper()
	segment := func(size int) []byte {
		m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = syscall.Munmap(m) })
		return m
	}
	table, writer := segment(fib.TableSize()), segment(fib.WriterSize())
	if err := fib.Format(table, writer); err != nil {
		tb.Fatal(err)
	}
	w, err := fib.NewWriter(table, writer, fib.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return &timedWriter{Writer: w}
}

// feed makes the real table as one peer announces it: 13 prefixes to a set of
// attributes, about as in a real table.
func feed(prefixes []netip.Prefix, peer string, pathLen int) []Change {
	changes := make([]Change, len(prefixes))
	var path *Path
	for i, p := range prefixes {
		if i%13 == 0 {
			path = ebgp(peer)
			path.PathLen = pathLen
			path.Attrs = new(int)
		}
		changes[i] = Change{p, addr(peer), path}
	}
	return changes
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Two full feeds into the real FIB, the loss of one, of a port, of the other.
// Times are logged, not judged.
func TestRealTable(t *testing.T) {
	if testing.Short() {
		t.Skip("a full table twice")
	}
	prefixes, err := realtable.Prefixes()
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(t)
	r := New(Options{})
	r.Attach(w)
	r.SetPorts(twoPorts())
	timed := func(what string, do func()) {
		start, cpu := time.Now(), cpuTime()
		w.prefixes, w.moved = false, start
		do()
		s := r.Status()
		t.Logf("%-30s %6.0f ms, CPU %6.0f ms, groups repaired after %5.2f ms; eBGP %d, groups %d", what,
			ms(time.Since(start)), ms(cpuTime()-cpu), ms(max(w.moved.Sub(start), 0)), s.EBGP, s.Groups)
	}
	check := func(port string) {
		t.Helper()
		if s := r.Status(); s.EBGP != len(prefixes) || s.InFIB != len(prefixes)+s.Connected || s.InFIB != w.Stats().Prefixes || s.Failed != 0 {
			t.Fatalf("status %+v, FIB %+v", s, w.Stats())
		}
		for _, p := range prefixes[:1000] {
			if route, _ := r.Get(p); len(route.NextHops) != 1 || route.NextHops[0].PortName != port {
				t.Fatalf("%v: %+v", p, route)
			}
		}
	}

	a, b := feed(prefixes, "198.51.100.1", 2), feed(prefixes, "192.0.2.9", 3)
	before := heap()
	timed("load", func() { r.UpdateBGP(a) })
	check("xe0")
	one := heap()
	t.Logf("heap: %d bytes a route with one candidate, the prefix table included", (one-before)/uint64(len(prefixes)))
	timed("load of a second, worse feed", func() { r.UpdateBGP(b) })
	check("xe0")
	t.Logf("heap: %d bytes more for the second candidate", (heap()-one)/uint64(len(prefixes)))
	runtime.KeepAlive(b)
	timed("the same feed again", func() { r.UpdateBGP(a) })
	timed("audit of everything", func() {
		if a := r.Audit(2 * len(prefixes)); a.Repaired != 0 || a.Checked != len(prefixes)+len(twoPortsFIB) {
			t.Fatalf("audit %+v", a)
		}
	})
	timed("stream of all routes", func() {
		n := 0
		for range r.Routes(everything) {
			n++
		}
		if n != len(prefixes)+len(twoPortsFIB) {
			t.Fatalf("%d routes", n)
		}
	})
	timed("refill of an empty FIB", func() { w = newWriter(t); r.Attach(w) })
	check("xe0")
	timed("port of the better peer down", func() { r.SetPorts(twoPorts()[1:]) })
	check("xe1")
	timed("and up", func() { r.SetPorts(twoPorts()) })
	check("xe0")
	timed("better peer's session down", func() { r.DropPeer(addr("198.51.100.1")) })
	check("xe1")
	timed("last session down", func() { r.DropPeer(addr("192.0.2.9")) })
	if s, f := r.Status(), w.Stats(); s.Prefixes != len(twoPortsFIB) || f.Prefixes != len(twoPortsFIB) {
		t.Fatalf("status %+v, FIB %+v", s, f)
	}
	r.SetPorts(nil)
	if f := w.Stats(); f.Prefixes != 0 || fmt.Sprint(r.Status()) != fmt.Sprint(Status{Attached: true}) {
		t.Fatalf("left over: FIB %+v, RIB %+v", f, r.Status())
	}
}
