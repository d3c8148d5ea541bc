//go:build linux

package netdev

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Loan is an interface that we may change and have to give back.
type Loan struct {
	ns      *Namespace
	dir     string
	journal journal
	link    netlink.Link
}

// Borrow begins a loan of the interface called name, with its journal in dir.
func (n *Namespace) Borrow(name, dir string) (*Loan, error) {
	s, err := n.Find(name)
	if err != nil {
		return nil, err
	}
	j, err := loadJournal(dir, s, bootID())
	if err != nil {
		return nil, err
	}
	link := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Name: s.Name, Index: s.Index}}
	return &Loan{ns: n, dir: dir, journal: j, link: link}, nil
}

// State reads the interface. The error is ErrNoInterface when it has gone.
func (l *Loan) State() (State, error) { return l.ns.byIndex(l.journal.Index) }

// change notes in the journal what is about to be done, and does it.
func (l *Loan) change(what string, do func() error) error {
	if err := l.journal.save(l.dir); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s of %s: %w", what, l.journal.Interface, err)
	}
	return nil
}

// SetUp sets the interface up.
func (l *Loan) SetUp() error {
	s, err := l.State()
	if err != nil || s.AdminUp {
		return err
	}
	l.journal.SetUp = true
	return l.change("set up", func() error { return l.ns.links.LinkSetUp(l.link) })
}

// SetMTU sets the MTU in bytes of IP packet; 0 is the one that it had before the loan.
func (l *Loan) SetMTU(mtu int) error {
	s, err := l.State()
	if err != nil {
		return err
	}
	if mtu == 0 {
		mtu = l.journal.MTU
	}
	if mtu == 0 || mtu == s.MTU {
		return nil
	}
	if l.journal.MTU == 0 {
		l.journal.MTU = s.MTU
	}
	return l.change(fmt.Sprintf("set MTU %d", mtu), func() error { return l.ns.links.LinkSetMTU(l.link, mtu) })
}

// SetAddresses adds the addresses that are missing and removes those that this loan had
// added and that are no longer wanted. Addresses of others stay.
func (l *Loan) SetAddresses(want []netip.Prefix) error {
	for _, p := range slices.Clone(l.journal.Addresses) {
		if !slices.Contains(want, p) {
			if err := l.removeAddress(p); err != nil {
				return err
			}
		}
	}
	// Listed after the removals: those of a primary address take its secondaries along.
	present, err := l.addresses()
	if err != nil {
		return err
	}
	for _, p := range want {
		if slices.Contains(present, p) {
			continue
		}
		if !slices.Contains(l.journal.Addresses, p) {
			l.journal.Addresses = append(l.journal.Addresses, p)
		}
		err := l.change("add address "+p.String(), func() error {
			return l.ns.links.AddrAdd(l.link, &netlink.Addr{IPNet: ipNet(p)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Loan) removeAddress(p netip.Prefix) error {
	err := l.ns.links.AddrDel(l.link, &netlink.Addr{IPNet: ipNet(p)})
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("remove address %s of %s: %w", p, l.journal.Interface, err)
	}
	l.journal.Addresses = slices.DeleteFunc(l.journal.Addresses, func(a netip.Prefix) bool { return a == p })
	return l.journal.save(l.dir)
}

func (l *Loan) addresses() ([]netip.Prefix, error) {
	list, err := l.ns.links.AddrList(l.link, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("addresses of %s: %w", l.journal.Interface, err)
	}
	var present []netip.Prefix
	for _, a := range list {
		addr, ok := netip.AddrFromSlice(a.IP)
		ones, _ := a.Mask.Size()
		if ok {
			present = append(present, netip.PrefixFrom(addr.Unmap(), ones))
		}
	}
	return present, nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Return gives the interface back as it was before the loan. An interface that has gone
// needs nothing. What could not be undone stays in the journal.
func (l *Loan) Return() error {
	s, err := l.State()
	if errors.Is(err, ErrNoInterface) {
		return l.journal.remove(l.dir)
	}
	if err != nil {
		return err
	}
	errs := []error{l.SetAddresses(nil), l.SetMTU(0), l.restoreVLANStrip(), l.restoreChannels()}
	if l.journal.SetUp && s.AdminUp {
		errs = append(errs, l.ns.links.LinkSetDown(l.link))
	}
	if err := errors.Join(errs...); err != nil {
		if _, e := l.State(); errors.Is(e, ErrNoInterface) { // it went while we tidied
			return l.journal.remove(l.dir)
		}
		return fmt.Errorf("give %s back: %w", l.journal.Interface, err)
	}
	return l.journal.remove(l.dir)
}
