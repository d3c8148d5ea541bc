// Package edge is the network that the demo and the end-to-end tests share: one or
// two upstream routers, the router under test and a LAN host, each in a namespace.
//
//	upstream A  AS 64496  198.51.100.1/30 ── up0 ┐
//	                                             ├─ router AS 64500 ─ lan0 192.0.2.1/27 ── LAN host 192.0.2.10
//	upstream B  AS 64497  198.51.100.5/30 ── up1 ┘
//
// Invariant: the router's interfaces start without addresses and its kernel does
// not forward, so what crosses crossed routerd.
//
// A Network and a Router are for one goroutine. Linux only.
package edge
