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

// interruptions is how often the kernel has taken the CPU from the calling thread.
func interruptions() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return u.Nivcsw
}
