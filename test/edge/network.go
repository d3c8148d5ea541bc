//go:build linux

package edge

import (
	"errors"
	"fmt"
	"net/netip"

	"routerd/test/lab"
)

const (
	RouterAS    = 64500
	RouterID    = "192.0.2.1"
	LANSubnet   = "192.0.2.0/27"
	maxUpstream = 2
)

// Addresses of the network.
var (
	LANHost    = netip.MustParseAddr("192.0.2.10")
	LANGateway = netip.MustParseAddr("192.0.2.1")
)

// Upstream is a router that we peer with.
type Upstream struct {
	*lab.Namespace
	AS      int
	Address netip.Addr // its own on the link
	Router  netip.Addr // ours on the link
	Port    string     // ours on the link
}

// Network is the laid-out network.
type Network struct {
	*lab.Lab
	Upstreams []Upstream
	Router    *lab.Namespace
	LAN       *lab.Namespace
}

// Lay builds the network with one or two upstreams in an empty lab. The upstream
// hosts know the way back to the LAN by a kernel route: no BGP speaker here
// programs a kernel.
func Lay(l *lab.Lab, upstreams int) (*Network, error) {
	if upstreams < 1 || upstreams > maxUpstream {
		return nil, fmt.Errorf("%d upstreams; the network has room for 1 to %d", upstreams, maxUpstream)
	}
	n := &Network{Lab: l}
	var err error
	if n.Router, err = l.Namespace("router"); err != nil {
		return nil, err
	}
	if n.LAN, err = l.Namespace("lan"); err != nil {
		return nil, err
	}
	err = errors.Join(
		l.Connect(lab.End{Space: n.LAN, Name: "eth0", Addresses: []string{LANHost.String() + "/27"}},
			lab.End{Space: n.Router, Name: "lan0", Router: true}),
		n.LAN.IP("route", "add", "default", "via", LANGateway.String()))
	if err != nil {
		return nil, err
	}
	for i := range upstreams {
		if err := n.addUpstream(i); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *Network) addUpstream(i int) error {
	space, err := n.Namespace("upstream-" + string("ab"[i]))
	if err != nil {
		return err
	}
	u := Upstream{
		Namespace: space, AS: 64496 + i, Port: fmt.Sprintf("up%d", i),
		Address: netip.AddrFrom4([4]byte{198, 51, 100, byte(4*i + 1)}),
		Router:  netip.AddrFrom4([4]byte{198, 51, 100, byte(4*i + 2)}),
	}
	n.Upstreams = append(n.Upstreams, u)
	return errors.Join(
		n.Connect(lab.End{Space: space, Name: "eth0", Addresses: []string{u.Address.String() + "/30"}},
			lab.End{Space: n.Router, Name: u.Port, Router: true}),
		space.IP("route", "add", LANSubnet, "via", u.Router.String()))
}

// Hold gives an upstream host an address inside a prefix that it announces.
func (u Upstream) Hold(addresses ...netip.Addr) error {
	for _, a := range addresses {
		if err := u.IP("address", "add", a.String()+"/32", "dev", "lo"); err != nil {
			return err
		}
	}
	return nil
}

// Speak starts the speaker as this upstream's BGP router.
func (u Upstream) Speak(program string, args ...string) (*lab.Process, error) {
	return u.Start("speaker-"+u.Port, append([]string{
		program, "-as", fmt.Sprint(u.AS), "-listen", u.Address.String(),
		"-neighbor", u.Router.String(), "-neighbor-as", fmt.Sprint(RouterAS),
	}, args...)...)
}
