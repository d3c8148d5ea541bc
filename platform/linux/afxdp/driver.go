//go:build linux

package afxdp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"routerd/nmring"
	"routerd/platform/linux/netdev"
)

const (
	defaultBuffers = 16384
	defaultSlots   = 1024
	maxLocal       = 16384 // addresses of the host, of all ports
)

// Options configure a Driver.
type Options struct {
	RunDir  string // journals of what must be undone on interfaces
	Buffers int    // packet buffers of all ports, 0: 16,384
	Log     *slog.Logger
}

// Driver opens ports on interfaces of the network namespace it was made in.
type Driver struct {
	opt  Options
	log  *slog.Logger
	ns   *netdev.Namespace
	umem *umem

	mu     sync.Mutex
	local  *ebpf.Map
	locals map[netip.Addr]bool // what is in local
	ports  map[string]*Port    // by interface
}

// New makes the packet buffers and opens the network namespace of the calling thread.
func New(opt Options) (*Driver, error) {
	if opt.Buffers == 0 {
		opt.Buffers = defaultBuffers
	}
	d := &Driver{opt: opt, log: opt.Log, locals: make(map[netip.Addr]bool), ports: make(map[string]*Port)}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if err := rlimit.RemoveMemlock(); err != nil { // of kernels before 5.11
		return nil, explainBPF(err)
	}
	var err error
	if d.local, err = newLocalMap(); err != nil {
		return nil, err
	}
	if d.ns, err = netdev.Open(d.log); err != nil {
		return nil, errors.Join(err, d.local.Close())
	}
	if d.umem, err = newUMEM(opt.Buffers); err != nil {
		return nil, errors.Join(err, d.local.Close(), d.ns.Close())
	}
	d.log.Debug("packet buffers", "count", d.umem.region.Count(), "stride", d.umem.stride, "memory", d.umem.memory.how)
	return d, nil
}

// Region is where the buffers of all ports are.
func (d *Driver) Region() *nmring.Region { return d.umem.region }

// setLocal makes the set of the host's addresses in the kernel equal to addrs.
func (d *Driver) setLocal(addrs []netip.Addr) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	want := make(map[netip.Addr]bool, len(addrs))
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() {
			want[a] = true
		}
	}
	if len(want) > maxLocal {
		return fmt.Errorf("%d addresses of the host, AF_XDP ports take at most %d", len(want), maxLocal)
	}
	for a := range d.locals {
		if !want[a] {
			if err := d.local.Delete(a.As4()); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return fmt.Errorf("address %s of the host: %w", a, err)
			}
			delete(d.locals, a)
		}
	}
	for a := range want {
		if !d.locals[a] {
			if err := d.local.Put(a.As4(), uint8(1)); err != nil {
				return fmt.Errorf("address %s of the host: %w", a, err)
			}
			d.locals[a] = true
		}
	}
	return nil
}

// Close gives interfaces back that an earlier process left, and frees the buffers. It
// fails, and frees nothing, while ports are open.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.ports {
		return fmt.Errorf("interface %s is still open", name)
	}
	err := errors.Join(d.settle(), d.ns.Close(), d.local.Close())
	d.umem.memory.unmap()
	return err
}

// Settle gives the interfaces back that an earlier process left borrowed when it died,
// but for those that are open now.
func (d *Driver) Settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settle()
}

func (d *Driver) settle() error {
	open := make(map[string]bool)
	for name := range d.ports {
		open[name] = true
	}
	return d.ns.Settle(d.opt.RunDir, open)
}
