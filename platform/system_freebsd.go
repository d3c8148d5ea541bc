package platform

import (
	"fmt"

	"routerd/nmring"
)

const drivers = "none for FreeBSD yet"

// System opens the ports of one process.
type System struct{}

// New makes a System.
func New(Options) (*System, error) { return &System{}, nil }

func (s *System) openXDP(ifname string, _ OpenOptions) (nmring.Port, error) {
	return nil, fmt.Errorf("device \"xdp:%s\": AF_XDP exists on Linux only; on FreeBSD use netmap:%s", ifname, ifname)
}

// Settle gives back the interfaces that an earlier process left borrowed when it died.
func (s *System) Settle() error { return nil }

// Close frees what the System holds.
func (s *System) Close() error { return nil }
