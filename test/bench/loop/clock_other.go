//go:build !linux

package main

import "time"

var began = time.Now()

// cpuTime is the time since the start, where the thread's own cannot be had.
func cpuTime() int64 { return int64(time.Since(began)) }

func interruptions() int64 { return 0 }
