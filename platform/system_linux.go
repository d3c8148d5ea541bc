package platform

import (
	"routerd/nmring"
	"routerd/platform/linux/afxdp"
)

const drivers = "xdp"

// System opens the ports of one process, in the network namespace of the thread that
// made it.
type System struct {
	xdp *afxdp.Driver
}

// New makes a System with its packet buffers. The run directory must be this process's
// alone: take a Lock in it first.
func New(opt Options) (*System, error) {
	xdp, err := afxdp.New(afxdp.Options{RunDir: opt.RunDir, Buffers: opt.Buffers, Log: opt.Log})
	if err != nil {
		return nil, err
	}
	return &System{xdp: xdp}, nil
}

func (s *System) openXDP(ifname string, opt OpenOptions) (nmring.Port, error) {
	p, err := s.xdp.Open(ifname, afxdp.OpenOptions{
		Queues: opt.Queues, Slots: opt.Slots, Settings: opt.Settings, Events: opt.Events})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Settle gives back the interfaces that an earlier process left borrowed when it died,
// but for those that are open. Call it when all ports of the configuration are open.
func (s *System) Settle() error { return s.xdp.Settle() }

// Close settles and frees the packet buffers. It fails while ports are open.
func (s *System) Close() error { return s.xdp.Close() }
