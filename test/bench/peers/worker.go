//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"

	"routerd/fib"
	"routerd/platform"
)

// worker is our half: a FIB in the memory that routerd would take, in a process of
// its own that answers requests as dpdk/lookup.c does.
type worker struct {
	dir     string
	writer  *fib.Writer
	table   *fib.Table
	groups  [nextHops + 1]uint16  // by next hop
	hops    [fib.MaxGroups]uint64 // next hop by group; the default's is 0
	updates []route
	streams map[string][]uint32
}

func work(dir string) error {
	runtime.LockOSThread()
	w := &worker{dir: dir, streams: map[string][]uint32{}}
	load, err := w.load()
	if err != nil {
		return err
	}
	fmt.Printf("ok %d\n", load)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := w.answer(lines.Text())
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return nil
}

func (w *worker) answer(request string) (string, error) {
	var kind, stream string
	var batch, passes int
	if request == "update" {
		removed, added, err := w.update()
		return fmt.Sprintf("ok %d %d", removed, added), err
	}
	if _, err := fmt.Sscanf(request, "lookup %s %s %d %d", &kind, &stream, &batch, &passes); err != nil {
		return "error unknown request", nil
	}
	spent, sum, err := w.lookup(stream, batch, passes)
	return fmt.Sprintf("ok %d %d", spent, sum), err
}

// load makes the FIB and tells the nanoseconds of CPU that its routes took.
func (w *worker) load() (int64, error) {
	routes, err := readFile[route](w.dir, "routes")
	if err != nil {
		return 0, err
	}
	if w.updates, err = readFile[route](w.dir, "updates"); err != nil {
		return 0, err
	}
	var segments [2][]byte
	for i, size := range []int{fib.TableSize(), fib.WriterSize()} {
		m, err := platform.NewSharedMemory("peers", size)
		if err != nil {
			return 0, err
		}
		segments[i] = m.Bytes()
	}
	if err := fib.Format(segments[0], segments[1]); err != nil {
		return 0, err
	}
	if w.writer, err = fib.NewWriter(segments[0], segments[1], fib.Options{}); err != nil {
		return 0, err
	}
	if w.table, err = fib.OpenTable(segments[0]); err != nil {
		return 0, err
	}
	for i := 1; i <= nextHops; i++ {
		nh, err := w.writer.AcquireNextHop(fib.NextHop{Action: fib.ActionForward, Port: uint16(i % 4), Gateway: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})})
		if err != nil {
			return 0, err
		}
		if w.groups[i], err = w.writer.NewGroup([]uint16{nh}); err != nil {
			return 0, err
		}
		w.hops[w.groups[i]] = uint64(i)
	}
	spent, err := w.set(routes)
	return spent.Nanoseconds(), err
}

func (w *worker) set(routes []route) (time.Duration, error) {
	return timed(func() error {
		for _, r := range routes {
			if err := w.writer.Set(r.prefix(), w.groups[r.NextHop]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *worker) update() (removed, added int64, err error) {
	first, err := timed(func() error {
		for _, r := range w.updates {
			if _, err := w.writer.Delete(r.prefix()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	second, err := w.set(w.updates)
	return first.Nanoseconds(), second.Nanoseconds(), err
}

func (w *worker) lookup(name string, batch, passes int) (nanoseconds int64, sum uint64, err error) {
	stream := w.streams[name]
	if stream == nil {
		if stream, err = mapStream(w.dir, name); err != nil {
			return 0, 0, err
		}
		w.streams[name] = stream
	}
	out := make([]uint16, batch)
	for at := 0; at+batch <= len(stream); at += batch {
		w.table.LookupBatch(stream[at:at+batch], out)
		for _, g := range out {
			sum += w.hops[g]
		}
	}
	spent, err := timed(func() error {
		for range passes {
			pass(w.table, stream, out)
		}
		return nil
	})
	return spent.Nanoseconds(), sum, err
}

func pass(t *fib.Table, stream []uint32, out []uint16) {
	for len(stream) >= len(out) {
		t.LookupBatch(stream[:len(out)], out)
		stream = stream[len(out):]
	}
}

func timed(f func() error) (time.Duration, error) {
	begin, err := cpuTime()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	end, err := cpuTime()
	return end - begin, err
}
