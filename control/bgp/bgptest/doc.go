// Package bgptest is a BGP speaker for tests: it opens one session over a real
// TCP connection, sends exactly the messages it is told to, and keeps what it
// hears.
//
// It decides nothing: no hold timer, no reconnect, no policy, no best path. What
// the far side does with a message is therefore what the test sees. The session
// is IPv4 unicast with four-octet AS numbers (RFC 4271, RFC 6793).
//
// A Session may be used by several goroutines.
package bgptest
