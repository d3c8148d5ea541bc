package dataplane

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Run forwards until ctx ends: a locked thread for each worker, and one goroutine for the
// slow path. It returns after all of them, with the error of a worker that could not be
// pinned to its CPU. Ports stay where they are.
func (d *Dataplane) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stop atomic.Bool
	var wg sync.WaitGroup
	failures := make(chan error, len(d.workers))
	for i, w := range d.workers {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if len(d.options.CPUs) > 0 {
				if err := d.options.Pin(d.options.CPUs[i]); err != nil {
					failures <- fmt.Errorf("dataplane: %v: pin to CPU %d: %w", w, d.options.CPUs[i], err)
					cancel()
					return
				}
			}
			w.run(&stop)
		})
	}
	d.runSlow(ctx)
	stop.Store(true)
	for _, w := range d.workers {
		w.wake()
	}
	wg.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// runSlow repeats steps, and sleeps until the next timer or the bell.
func (d *Dataplane) runSlow(ctx context.Context) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for ctx.Err() == nil {
		next, more := d.Step(d.options.Clock())
		if more {
			continue
		}
		d.bell.asleep.Store(true)
		if d.slow.waits() {
			d.bell.asleep.Store(false)
			continue
		}
		if next.IsZero() {
			alarm.Stop()
		} else {
			alarm.Reset(next.Sub(d.options.Clock()))
		}
		select {
		case <-ctx.Done():
		case <-d.bell.c:
		case <-alarm.C:
		}
		d.bell.asleep.Store(false)
	}
}

// waits says whether there is something to take.
func (s *slowPath) waits() bool {
	if !s.overheard.empty() || !s.fromHost.empty() || s.faults.seen.Load() != 0 {
		return true
	}
	for i := range s.links {
		if s.links[i].Load() != 0 {
			return true
		}
	}
	for _, w := range s.workers {
		for _, r := range w.punts {
			if !r.empty() {
				return true
			}
		}
	}
	return false
}

// sleeper is the Waiter where the system offers none: it looks at no descriptor.
type sleeper chan struct{}

// Wait sleeps a millisecond at most, for frames cannot wake it.
func (s sleeper) Wait(_ []int, timeoutMillis int) {
	t := time.NewTimer(time.Duration(min(timeoutMillis, 1)) * time.Millisecond)
	defer t.Stop()
	select {
	case <-s:
	case <-t.C:
	}
}

// Wake ends Wait, or the next one.
func (s sleeper) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}
