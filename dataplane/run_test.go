package dataplane_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"

	"routerd/dataplane"
	"routerd/nmring"
)

// A running router forwards between four goroutines' wires while ports come and go,
// routes change and somebody looks on.
func TestRunningRouterSurvivesChanges(t *testing.T) {
	r := newRouter(t, routerOptions{workers: 2})
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{Queues: 2})
	b := r.port("b", "198.51.100.1/24", nmring.PipeOptions{})
	c := r.port("c", "10.5.0.1/24", nmring.PipeOptions{Queues: 2})
	a.send(known(0), udp{src: "192.0.2.7", dst: "10.5.0.7"})
	r.settle()
	toB, toC := a.build(known(1)), a.build(udp{src: "192.0.2.7", dst: "10.5.0.7", mark: 2})

	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.dp.Run(ctx) }()

	var wg sync.WaitGroup
	wg.Go(func() { // sends
		for ctx.Err() == nil {
			a.TrySend(0, toB, toC)
			a.TrySend(1, toC)
			runtime.Gosched()
		}
	})
	done := make(chan struct{})
	wg.Go(func() { // takes what comes until c has got enough
		for got := 0; got < 5000; runtime.Gosched() {
			b.Receive(0)
			got += len(c.Receive(0)) + len(c.Receive(1))
		}
		close(done)
	})
	wg.Go(func() { // changes things
		for i := 0; ; i++ {
			select {
			case <-done:
				cancel()
				return
			default:
			}
			if err := r.dp.RemovePort(b.index); err != nil {
				t.Error(err)
			}
			if err := r.dp.AddPort(b.index, "b", b.port, 1500, []netip.Prefix{netip.MustParsePrefix("198.51.100.1/24")}); err != nil {
				t.Error(err)
			}
			r.dp.LinkChanged(b.index, i%2 == 0)
			r.dp.Neighbors()
			r.state.Total()
			r.dp.Events(c.index).Overheard(toB)
			runtime.Gosched()
		}
	})
	wg.Wait()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	r.dp.LinkChanged(b.index, true)
	r.settle()
	if all, busy := r.state.Rounds(0); all < busy || busy == 0 {
		t.Errorf("%d rounds, %d busy", all, busy)
	}
}

// A worker that blocks is woken by the slow path and by the end.
func TestIdleWorkersBlockAndWake(t *testing.T) {
	r := newRouter(t, routerOptions{})
	waits := make(chan struct{})
	w := &recordingWaiter{entered: waits, wake: make(chan struct{}, 1)}
	var err error
	r.dp, err = dataplane.New(dataplane.Options{Table: r.fib.table, State: r.state, Waiter: func() dataplane.Waiter { return w }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.dp.Run(ctx) }()
	<-waits
	a := r.port("a", "192.0.2.1/24", nmring.PipeOptions{}) // wakes it, and it blocks again
	<-waits
	r.dp.Events(a.index).FromHost([]byte("a frame of the host, sixty bytes or not"))
	<-waits
	if got := a.Receive(0); len(got) != 1 {
		t.Errorf("%d frames of the host left", len(got))
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

type recordingWaiter struct {
	entered chan struct{}
	wake    chan struct{}
}

// Wait ends only by Wake: a wake-up that is lost stops the test.
func (w *recordingWaiter) Wait([]int, int) {
	select {
	case w.entered <- struct{}{}:
	case <-w.wake:
		return
	}
	<-w.wake
}

func (w *recordingWaiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func TestWorkerThatCannotBePinnedEndsRun(t *testing.T) {
	r := newRouter(t, routerOptions{workers: 2})
	dp, err := dataplane.New(dataplane.Options{Workers: 2, CPUs: []int{0, 99}, Table: r.fib.table, State: r.state,
		Pin: func(cpu int) error {
			if cpu == 99 {
				return errors.New("no such CPU")
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := dp.Run(t.Context()); err == nil || err.Error() != "dataplane: worker 1: pin to CPU 99: no such CPU" {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	r := newRouter(t, routerOptions{workers: 2})
	for _, c := range []struct {
		name string
		o    dataplane.Options
		want string
	}{
		{"nothing", dataplane.Options{}, "are needed"},
		{"too many workers", dataplane.Options{Workers: 65, Table: r.fib.table, State: r.state}, "65 workers: 1 to 64"},
		{"another number of workers", dataplane.Options{Workers: 3, Table: r.fib.table, State: r.state}, "made for 2"},
		{"one CPU for two", dataplane.Options{Workers: 2, CPUs: []int{1}, Table: r.fib.table, State: r.state}, "1 CPUs for 2 workers"},
		{"batch", dataplane.Options{Workers: 2, Batch: 257, Table: r.fib.table, State: r.state}, "257 frames: 1 to 256"},
		{"idle", dataplane.Options{Workers: 2, Idle: "lazy", Table: r.fib.table, State: r.state}, `idle "lazy"`},
	} {
		if _, err := dataplane.New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
