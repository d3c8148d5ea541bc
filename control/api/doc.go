// Package api is the operator's surface of routerd: HTTP and JSON over Unix
// sockets. It holds the types of every answer, the Backend that the control
// process implements, the server, the Prometheus collector and the typed client
// behind routerctl.
//
// What an operator names in routerd.conf or on a command line keeps that word in
// JSON (port, source, prefix, distance); what is measured or observed carries the
// leaf name OpenConfig has for it (in-octets, oper-status, session-state). Times
// are RFC 3339. A field that does not apply is absent.
//
// The two tables that grow with the Internet, FIB and routes, are streams of one
// JSON object a line (NDJSON); no side ever holds the whole table. If a stream
// fails after it began, its last line is an object whose first member is "error".
//
// A Server and a Client may be used by any number of goroutines. Nothing a client
// does (reading slowly, leaving midway, sending rubbish) may stall the Backend: a
// Backend holds no lock while it yields a row.
//
// Sources: RFC 9110 (HTTP), RFC 8259 (JSON), openconfig-interfaces.yang,
// openconfig-bgp-neighbor.yang, openconfig-aft.yang (leaf names).
package api
