//go:build !race

package fib

import (
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkReaderBesideWriter reports what is left of a reader's rate, per second
// of its CPU, while a writer on another CPU deletes and adds routes as fast as it
// can: the median of the ratios of rounds with and without the writer. It needs
// two idle CPUs to mean something.
func BenchmarkReaderBesideWriter(b *testing.B) {
	w, table, prefixes, groups := loadReal(b)
	shuffle(prefixes)
	all := streams(prefixes)
	for _, name := range []string{"pfx", "zipf"} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var ratios, writes []float64
			for b.Loop() {
				alone := readRate(b, table, all[name])
				var stop atomic.Bool
				var beside sync.WaitGroup
				rate := make(chan float64, 1)
				beside.Go(func() { rate <- churnRate(b, w, prefixes[:100_000], groups, &stop) })
				ratios = append(ratios, readRate(b, table, all[name])/alone)
				stop.Store(true)
				beside.Wait()
				writes = append(writes, <-rate)
			}
			b.ReportMetric(middle(ratios), "ratio")
			b.ReportMetric(middle(writes)/1e6, "Mupdates/s")
		})
	}
}

func readRate(tb testing.TB, table *Table, stream []uint32) float64 {
	var out [128]uint16
	const passes = 5
	begin := threadTime(tb)
	for range passes {
		for s := stream; len(s) >= len(out); s = s[len(out):] {
			table.LookupBatch(s[:len(out)], out[:])
		}
	}
	return passes * float64(len(stream)) / (threadTime(tb) - begin).Seconds()
}

// churnRate deletes the routes and adds them again until it is told to stop.
func churnRate(tb testing.TB, w *Writer, prefixes []netip.Prefix, groups []uint16, stop *atomic.Bool) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin, n := threadTime(tb), 0
	for !stop.Load() {
		for _, p := range prefixes {
			if ok, err := w.Delete(p); !ok || err != nil {
				tb.Errorf("Delete(%v) = %v, %v", p, ok, err)
			}
		}
		fill(tb, w, prefixes, groups)
		n += 2 * len(prefixes)
	}
	return float64(n) / (threadTime(tb) - begin).Seconds()
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// threadTime is the CPU time of the calling thread.
func threadTime(tb testing.TB) time.Duration {
	tb.Helper()
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		tb.Error(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
