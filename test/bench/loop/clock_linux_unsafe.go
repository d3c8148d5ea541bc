//go:build linux

package main

import "golang.org/x/sys/unix"

// cpuTime is the CPU time of the calling thread in nanoseconds.
func cpuTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
