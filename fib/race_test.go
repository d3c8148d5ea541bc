//go:build race

package fib

const raceEnabled = true
