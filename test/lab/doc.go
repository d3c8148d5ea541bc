// Package lab builds small networks of Linux network namespaces in which whole
// routers are tried: namespaces, veth pairs, addresses, processes and their logs.
//
// Invariant: nothing of a lab outlives it. Close kills what runs in its
// namespaces and removes them, and Open removes those of runs that died. Only a
// lab opened under a fixed name stays until Remove. Packets never leave the lab:
// no namespace has a link to the host's.
//
// A Lab is for one goroutine; Await, Process.Done and Namespace.Do may be called
// by any. The package exists on Linux only and needs root and iproute2.
package lab
