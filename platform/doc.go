// Package platform is the only place that knows the operating system: it opens ports
// from their device strings, makes shared memory, and gives threads their CPU, their
// sleep and their lock.
//
// Invariant: what a System changes on an interface, Close of the port or of the System
// undoes; what a process that died has left, the next System takes over or undoes.
//
// A System may be used by any goroutine; a Waiter has one goroutine that waits and any
// that wake it; SharedMemory is as concurrent as its users make it.
package platform
