package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"routerd/platform"
)

// turns is how often each side of a comparison is measured; the figures are medians.
const turns = 7

// onCPU runs f on a thread that is pinned to a CPU.
func onCPU(cpu int, f func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := platform.PinThread(cpu)
		if err == nil {
			err = f()
		}
		failed <- err
	}()
	return <-failed
}

// side is one way to move packets and what it was measured at.
type side struct {
	name  string
	round func() int
	ns    []float64 // CPU time of a packet, in each turn
}

// rounds is how many rounds go between two looks at the clock.
const rounds = 256

// measure runs rounds for about d and returns CPU nanoseconds a packet.
func measure(d time.Duration, round func() int) (float64, error) {
	moved, began := 0, cpuTime()
	for end := began + int64(d); ; {
		for range rounds {
			moved += round()
		}
		if now := cpuTime(); now > end {
			if moved == 0 {
				return 0, fmt.Errorf("no packets are left in the loop")
			}
			return float64(now-began) / float64(moved), nil
		}
	}
}

// compare measures sides in turns for d in all.
func compare(d time.Duration, sides ...*side) error {
	for range turns {
		for _, s := range sides {
			ns, err := measure(d/time.Duration(turns*len(sides)), s.round)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.ns = append(s.ns, ns)
		}
	}
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func (s *side) String() string {
	m := median(s.ns)
	return fmt.Sprintf("%-8s %7.2f Mpps %7.2f ns/packet  [%.2f-%.2f]", s.name, 1e3/m, m, slices.Min(s.ns), slices.Max(s.ns))
}

// bounce is base: worker's queue of each port gets its packets back as they came.
func (r *router) bounce(worker int) int {
	n := 0
	for _, p := range r.ports {
		n += p.Bounce(worker)
	}
	return n
}
