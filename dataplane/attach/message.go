// Package attach is the control socket between the two processes of routerd: a control
// process attaches to the forwarding process, receives its shared memory, and tells it
// ports and next hops. Forwarding goes on when the control process dies; the next one
// attaches to the same process.
//
// The socket is a Unix stream socket that carries one JSON object a line. The control
// process sends Requests and the forwarding process answers each by its ID; Events come
// unasked. The answer to the first request, "hello", carries the descriptors of the
// shared memory (SCM_RIGHTS, unix(4)). One control process is attached at a time.
package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Protocol is the version of this protocol and of the shared memory's layouts together.
// Processes with different ones do not attach.
const Protocol = 1

// maxLine bounds a message. The largest is the neighbour list.
const maxLine = 16 << 20

// Segments is how many descriptors the welcome carries: FIB, writer's state, counters.
const Segments = 3

var (
	// ErrTaken says that another control process is attached.
	ErrTaken = errors.New("another control process is attached")
	// ErrProtocol says that the processes do not understand each other.
	ErrProtocol = errors.New("control socket protocol")
	// ErrClosed says that the connection is gone: the forwarding process has ended.
	ErrClosed = errors.New("forwarding process is gone")
)

type request struct {
	ID   uint64          `json:"id"`
	Op   string          `json:"op"`
	Body json.RawMessage `json:"body,omitempty"`
}

// message is an answer (ID set) or an event (Event set).
type message struct {
	ID    uint64          `json:"id,omitempty"`
	Error string          `json:"error,omitempty"`
	Taken bool            `json:"taken,omitempty"`
	Event string          `json:"event,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// Hello opens the connection.
type Hello struct {
	Protocol int `json:"protocol"`
	PID      int `json:"pid"`
}

// Welcome is the answer to Hello.
type Welcome struct {
	Protocol int       `json:"protocol"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Setup    Setup     `json:"setup"`
	// Sizes of the shared memory segments in bytes, in the order of the descriptors.
	Sizes [Segments]int `json:"sizes"`
}

// Setup is what a forwarding process is started with; it never changes while it runs.
type Setup struct {
	Workers int    `json:"workers"`
	CPUs    []int  `json:"cpus,omitempty"`
	Idle    string `json:"idle"`
	Buffers int    `json:"buffers"`
}

// CPU is the CPU of worker w, or -1 where it is not pinned.
func (s Setup) CPU(w int) int {
	if w < len(s.CPUs) {
		return s.CPUs[w]
	}
	return -1
}

func (s Setup) String() string {
	return fmt.Sprintf("%d workers on CPUs %v, idle %s, %d buffers", s.Workers, s.CPUs, s.Idle, s.Buffers)
}

// Port is a port as control wants it.
type Port struct {
	Name      string         `json:"name"`
	Device    string         `json:"device"`
	Queues    int            `json:"queues"`
	MTU       int            `json:"mtu,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
}

// PortList is the whole set of ports: what is missing is opened, what is too much is
// closed, what differs only in MTU and addresses is changed in place.
type PortList struct {
	Ports []Port `json:"ports"`
}

// PortStatus is a port as it is.
type PortStatus struct {
	Port
	Index     int       `json:"index"`
	Error     string    `json:"error,omitempty"` // why it could not be opened or changed
	Driver    string    `json:"driver,omitempty"`
	Mode      string    `json:"mode,omitempty"`
	MAC       string    `json:"mac,omitempty"`
	LinkMTU   int       `json:"link_mtu,omitempty"`
	SpeedMbps int       `json:"speed_mbps,omitempty"`
	Up        bool      `json:"up"`
	Notes     []string  `json:"notes,omitempty"`
	Counters  []Counter `json:"counters,omitempty"`
}

// Counter is a driver's counter of one queue.
type Counter struct {
	Queue int    `json:"queue"`
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// PortStatusList answers PortList and is the body of a port event.
type PortStatusList struct {
	Ports []PortStatus `json:"ports"`
}

// NextHopList names next hops that control has just defined in the FIB.
type NextHopList struct {
	Indexes []uint16 `json:"indexes"`
}

// Neighbor is an ARP neighbour.
type Neighbor struct {
	Port      string     `json:"port"`
	Address   netip.Addr `json:"address"`
	MAC       string     `json:"mac,omitempty"` // absent while it is not known
	State     string     `json:"state"`         // by RFC 4861
	Confirmed time.Time  `json:"confirmed,omitzero"`
	Used      time.Time  `json:"used,omitzero"`
	Held      int        `json:"held"`    // packets that wait for it
	Dropped   uint64     `json:"dropped"` // packets that waited in vain
}

// NeighborList answers a question for the neighbours.
type NeighborList struct {
	Neighbors []Neighbor `json:"neighbors"`
}
