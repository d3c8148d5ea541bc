package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// scale compares all workers at once, each on a CPU of its own, with the first alone, in
// turns. Their queues are disjoint: what is lost to sharing shows in CPU time.
func (r *router) scale(o options, oracle *oracle) error {
	const packets = 1 << 20
	for i := range o.workers {
		if err := r.verify(oracle, i, packets); err != nil {
			return err
		}
	}
	turn := time.Duration(o.seconds * float64(time.Second) / (2 * turns))
	var one, all, ratio []float64 // Mpps; all to one in each turn
	for range turns {
		for _, n := range []int{1, o.workers} {
			mpps, err := r.together(o.first, n, turn)
			if err != nil {
				return err
			}
			if n == 1 {
				one = append(one, mpps)
			} else {
				all, ratio = append(all, mpps), append(ratio, mpps/one[len(one)-1])
			}
		}
	}
	for i := range o.workers {
		if err := r.verify(oracle, i, packets); err != nil {
			return err
		}
	}
	if err := r.clean(); err != nil {
		return err
	}
	fmt.Printf("stream %s, batch %d, %d ports with a queue for each worker, %d packets in flight for each\n", o.stream, o.batch, o.ports, inFlight)
	fmt.Printf("%d worker  %8.2f Mpps  [%.2f-%.2f]\n", 1, median(one), slices.Min(one), slices.Max(one))
	fmt.Printf("%d workers %8.2f Mpps  [%.2f-%.2f]\n", o.workers, median(all), slices.Min(all), slices.Max(all))
	fmt.Printf("ratio     %8.2f       [%.2f-%.2f] median of turns\n", median(ratio), slices.Min(ratio), slices.Max(ratio))
	return nil
}

// together runs the first n workers for a turn and returns the sum of their rates.
func (r *router) together(firstCPU, n int, turn time.Duration) (mpps float64, err error) {
	rates, errs := make([]float64, n), make([]error, n)
	var start, running sync.WaitGroup
	start.Add(n)
	for i := range n {
		running.Go(func() {
			ready := sync.OnceFunc(start.Done)
			defer ready()
			errs[i] = onCPU(firstCPU+i, func() error {
				ready()
				start.Wait()
				ns, err := measure(turn, r.plane.Worker(i).Round)
				rates[i] = 1e3 / ns
				return err
			})
		})
	}
	running.Wait()
	for i := range n {
		if errs[i] != nil {
			return 0, fmt.Errorf("worker %d: %w", i, errs[i])
		}
		mpps += rates[i]
	}
	return mpps, nil
}
