package api

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

const (
	sampleEvery = time.Second
	rateWindow  = 5 // samples
)

// rates remembers the counters of the last samples and turns new ones into speeds.
type rates struct {
	mu      sync.Mutex
	samples []sample // oldest first, at most rateWindow
}

type sample struct {
	at       time.Time
	counters map[counterKey]Counters
}

// counterKey names a port's queue, or with queue -1 the port.
type counterKey struct {
	port  string
	queue int
}

func newRates() *rates { return &rates{} }

// add remembers what ports counted at the time at.
func (r *rates) add(at time.Time, ports []Port) {
	s := sample{at, make(map[counterKey]Counters)}
	for _, p := range ports {
		s.counters[counterKey{p.Name, -1}] = p.Counters
		for _, q := range p.Queues {
			s.counters[counterKey{p.Name, q.ID}] = q.Counters
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == rateWindow {
		r.samples = append(r.samples[:0], r.samples[1:]...)
	}
	r.samples = append(r.samples, s)
}

// fill sets those Rates of ports that are empty. The ports were read at the time at.
func (r *rates) fill(at time.Time, ports []Port) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == 0 {
		return
	}
	old := r.samples[0]
	window := at.Sub(old.at)
	if window <= 0 {
		return
	}
	for i := range ports {
		p := &ports[i]
		if p.Rates.Window == 0 {
			p.Rates = speed(window, old.counters, counterKey{p.Name, -1}, p.Counters)
		}
		for j := range p.Queues {
			q := &p.Queues[j]
			if q.Rates.Window == 0 {
				q.Rates = speed(window, old.counters, counterKey{p.Name, q.ID}, q.Counters)
			}
		}
	}
}

// speed is the change from old's counters to now. It is zero for what old does not
// know and when a counter went back: the forwarding process was restarted.
func speed(window time.Duration, old map[counterKey]Counters, key counterKey, now Counters) Rates {
	was, ok := old[key]
	if !ok || now.InPkts < was.InPkts || now.OutPkts < was.OutPkts ||
		now.InOctets < was.InOctets || now.OutOctets < was.OutOctets {
		return Rates{}
	}
	per := func(n uint64) float64 { return float64(n) / window.Seconds() }
	return Rates{
		Window: window.Seconds(),
		InPPS:  per(now.InPkts - was.InPkts),
		OutPPS: per(now.OutPkts - was.OutPkts),
		InBPS:  8 * per(now.InOctets-was.InOctets),
		OutBPS: 8 * per(now.OutOctets-was.OutOctets),
	}
}

// portsNow reads the ports and gives them rates.
func (s *Server) portsNow(ctx context.Context) ([]Port, error) {
	ports, err := s.backend.Ports(ctx)
	if err == nil {
		s.rates.fill(time.Now(), ports)
	}
	return ports, err
}

// sample reads the counters once a second until ctx ends.
func (s *Server) sample(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("rates are no longer measured", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if ports, err := s.backend.Ports(ctx); err == nil {
			s.rates.add(time.Now(), ports)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
