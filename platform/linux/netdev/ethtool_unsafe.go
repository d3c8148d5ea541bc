//go:build linux

package netdev

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	etLinkModeWords = 127    // the most that a driver may use (signed char)
	flagRxVLAN      = 1 << 8 // ETH_FLAG_RXVLAN
	speedUnknown    = 1<<32 - 1
)

// ethtoolChannels is struct ethtool_channels.
type ethtoolChannels struct {
	cmd, maxRx, maxTx, maxOther, maxCombined uint32
	rx, tx, other, combined                  uint32
}

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct{ cmd, data uint32 }

// ethtoolLinkSettings is struct ethtool_link_settings with room for its three masks.
type ethtoolLinkSettings struct {
	cmd, speed uint32
	_          [7]uint8 // duplex to eth_tp_mdix_ctrl
	words      int8
	_          [4]uint8 // transceiver to rate_matching
	_          [7]uint32
	_          [3 * etLinkModeWords]uint32
}

// ethtool sends a SIOCETHTOOL request, whose struct begins with its command, to the
// interface.
func (n *Namespace) ethtool(ifname string, request unsafe.Pointer) error {
	ifreq := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the rest of struct ifreq's union
	}{data: request}
	copy(ifreq.name[:unix.IFNAMSIZ-1], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.ioctls), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifreq)))
	runtime.KeepAlive(request)
	if errno != 0 {
		return errno
	}
	return nil
}

func (n *Namespace) channels(ifname string) (Channels, error) {
	c := ethtoolChannels{cmd: unix.ETHTOOL_GCHANNELS}
	if err := n.ethtool(ifname, unsafe.Pointer(&c)); err != nil {
		return Channels{}, err
	}
	return Channels{MaxRx: c.maxRx, MaxTx: c.maxTx, MaxCombined: c.maxCombined,
		Rx: c.rx, Tx: c.tx, Other: c.other, Combined: c.combined}, nil
}

func (n *Namespace) setChannels(ifname string, c Channels) error {
	return n.ethtool(ifname, unsafe.Pointer(&ethtoolChannels{cmd: unix.ETHTOOL_SCHANNELS,
		rx: c.Rx, tx: c.Tx, other: c.Other, combined: c.Combined}))
}

func (n *Namespace) vlanStrip(ifname string) (bool, error) {
	v := ethtoolValue{cmd: unix.ETHTOOL_GFLAGS}
	err := n.ethtool(ifname, unsafe.Pointer(&v))
	return v.data&flagRxVLAN != 0, err
}

func (n *Namespace) setVLANStrip(ifname string, on bool) error {
	v := ethtoolValue{cmd: unix.ETHTOOL_GFLAGS}
	if err := n.ethtool(ifname, unsafe.Pointer(&v)); err != nil {
		return err
	}
	v.cmd = unix.ETHTOOL_SFLAGS
	v.data &^= flagRxVLAN
	if on {
		v.data |= flagRxVLAN
	}
	return n.ethtool(ifname, unsafe.Pointer(&v))
}

// SpeedMbps is the speed of the interface's link, 0 where it is unknown.
func (n *Namespace) SpeedMbps(ifname string) int {
	s := ethtoolLinkSettings{cmd: unix.ETHTOOL_GLINKSETTINGS}
	if n.ethtool(ifname, unsafe.Pointer(&s)) != nil || s.words >= 0 {
		return 0
	}
	// The first call told, as a negative number, how many words its masks have.
	s = ethtoolLinkSettings{cmd: unix.ETHTOOL_GLINKSETTINGS, words: -s.words}
	if n.ethtool(ifname, unsafe.Pointer(&s)) != nil || s.speed == speedUnknown {
		return 0
	}
	return int(s.speed)
}
