package main

import (
	"iter"
	"net/netip"
	"sync"

	"routerd/control/rib"
	"routerd/fib"
)

// sharedWriter lets the RIB write the FIB while the auditor and shows look at it.
type sharedWriter struct {
	mu sync.Mutex
	w  *fib.Writer
}

var _ rib.Programmer = (*sharedWriter)(nil)

func (s *sharedWriter) AcquireNextHop(nh fib.NextHop) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.AcquireNextHop(nh)
}

func (s *sharedWriter) ReleaseNextHop(i uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.ReleaseNextHop(i)
}

func (s *sharedWriter) NewGroup(members []uint16) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.NewGroup(members)
}

func (s *sharedWriter) SetGroup(g uint16, members []uint16) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.SetGroup(g, members)
}

func (s *sharedWriter) FreeGroup(g uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.FreeGroup(g)
}

func (s *sharedWriter) Set(p netip.Prefix, g uint16) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Set(p, g)
}

func (s *sharedWriter) Delete(p netip.Prefix) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Delete(p)
}

func (s *sharedWriter) Get(p netip.Prefix) (uint16, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Get(p)
}

// All iterates without the lock: the RIB calls it before anybody else has the FIB.
func (s *sharedWriter) All() iter.Seq2[netip.Prefix, uint16] { return s.w.All() }

// audit compares the next n slots of the live table with the writer's own state.
func (s *sharedWriter) audit(n int) (checked, repaired int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Audit(n)
}

func (s *sharedWriter) stats() fib.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Stats()
}
