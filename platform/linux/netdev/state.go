//go:build linux

package netdev

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ErrNoInterface says that no interface has the name or number asked for.
var ErrNoInterface = errors.New("no such interface")

// State is an interface as the kernel shows it.
type State struct {
	Name     string
	Index    int
	MAC      [6]byte
	MTU      int  // bytes of IP packet
	AdminUp  bool // set up by the administrator
	Up       bool // set up, and carrier present
	RxQueues int  // allocated receive queues; no more than these can be in use
	XDP      uint32
	Gone     bool // the interface was deleted or has left the namespace
}

// Find describes the interface called name. The error is ErrNoInterface with the
// interfaces that exist.
func (n *Namespace) Find(name string) (State, error) {
	link, err := n.links.LinkByName(name)
	if _, none := errors.AsType[netlink.LinkNotFoundError](err); none {
		return State{}, n.noInterface(name)
	}
	if err != nil {
		return State{}, fmt.Errorf("interface %s: %w", name, err)
	}
	if link.Attrs().Name != name {
		return State{}, fmt.Errorf("interface %s is an alternative name: use %s", name, link.Attrs().Name)
	}
	return stateOf(link.Attrs()), nil
}

func (n *Namespace) byIndex(index int) (State, error) {
	link, err := n.links.LinkByIndex(index)
	if _, none := errors.AsType[netlink.LinkNotFoundError](err); none {
		return State{Index: index, Gone: true}, ErrNoInterface
	}
	if err != nil {
		return State{}, fmt.Errorf("interface %d: %w", index, err)
	}
	return stateOf(link.Attrs()), nil
}

func stateOf(a *netlink.LinkAttrs) State {
	const running = unix.IFF_UP | unix.IFF_LOWER_UP
	s := State{Name: a.Name, Index: a.Index, MTU: a.MTU, RxQueues: a.NumRxQueues,
		AdminUp: a.RawFlags&unix.IFF_UP != 0, Up: a.RawFlags&running == running}
	copy(s.MAC[:], a.HardwareAddr)
	if a.Xdp != nil && a.Xdp.Attached {
		s.XDP = a.Xdp.ProgId
	}
	return s
}

func (n *Namespace) noInterface(name string) error {
	links, err := n.links.LinkList()
	if err != nil {
		return fmt.Errorf("%w %q", ErrNoInterface, name)
	}
	var names []string
	for _, l := range links {
		if l.Attrs().RawFlags&unix.IFF_LOOPBACK == 0 {
			names = append(names, l.Attrs().Name)
		}
	}
	slices.Sort(names)
	return fmt.Errorf("%w %q; %s", ErrNoInterface, name, suggest(name, names))
}

// suggest says which of names may have been meant.
func suggest(name string, names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	closest := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.Distance(name, a, nil) - levenshtein.Distance(name, b, nil)
	})
	list := "interfaces: " + strings.Join(names, ", ")
	if levenshtein.Distance(name, closest, nil) <= 2 {
		return fmt.Sprintf("did you mean %q? %s", closest, list)
	}
	return list
}
