package fib

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Action says what happens to a packet that reaches a next hop.
type Action uint8

const (
	ActionNoRoute     Action = iota // no route: drop, ICMP network unreachable
	ActionForward                   // send to the gateway out of the port
	ActionGlean                     // connected subnet: the destination itself is the neighbour on the port
	ActionLocal                     // the router's own address: host path
	ActionBlackhole                 // drop silently
	ActionUnreachable               // drop, ICMP host unreachable
	actions
)

func (a Action) String() string {
	switch a {
	case ActionNoRoute:
		return "no route"
	case ActionForward:
		return "forward"
	case ActionGlean:
		return "glean"
	case ActionLocal:
		return "local"
	case ActionBlackhole:
		return "blackhole"
	case ActionUnreachable:
		return "unreachable"
	}
	return fmt.Sprintf("action %d", uint8(a))
}

// NextHop is where a packet goes next. The zero value means no route.
type NextHop struct {
	Action  Action
	Port    uint16
	Gateway netip.Addr // IPv4 with ActionForward, the zero Addr otherwise
}

// A packed next hop is one word, so that readers see all of it or nothing:
// gateway in bits 0..31, port in 32..47, action in 48..55, and bit 63 set, which
// tells a stored next hop from a free place. No route is the zero word.
const nextHopStored = 1 << 63

func (nh NextHop) pack() (uint64, error) {
	var gateway uint32
	switch {
	case nh.Action >= actions:
		return 0, fmt.Errorf("%w: unknown %v", ErrInvalidNextHop, nh.Action)
	case nh == NextHop{}:
		return 0, nil
	case nh.Action == ActionNoRoute:
		return 0, fmt.Errorf("%w: no route has no port and no gateway", ErrInvalidNextHop)
	case nh.Action == ActionForward:
		if !nh.Gateway.Is4() {
			return 0, fmt.Errorf("%w: gateway %v is not an IPv4 address", ErrInvalidNextHop, nh.Gateway)
		}
		a := nh.Gateway.As4()
		gateway = binary.BigEndian.Uint32(a[:])
	case nh.Gateway.IsValid():
		return 0, fmt.Errorf("%w: %v takes no gateway, has %v", ErrInvalidNextHop, nh.Action, nh.Gateway)
	}
	return nextHopStored | uint64(nh.Action)<<48 | uint64(nh.Port)<<32 | uint64(gateway), nil
}

func unpack(word uint64) NextHop {
	if word&nextHopStored == 0 {
		return NextHop{}
	}
	nh := NextHop{Action: Action(word >> 48), Port: uint16(word >> 32)}
	if nh.Action == ActionForward {
		nh.Gateway = addrOf(uint32(word))
	}
	return nh
}

func addrOf(a uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return netip.AddrFrom4(b)
}
