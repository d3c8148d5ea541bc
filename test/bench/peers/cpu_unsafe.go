//go:build linux

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// pin binds the calling thread, and what it starts, to one CPU.
func pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// cpuTime is what the calling thread has used.
func cpuTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
