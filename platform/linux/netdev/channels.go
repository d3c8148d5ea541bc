//go:build linux

package netdev

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Channels are the queue counts of an interface, as ethtool -l shows them.
type Channels struct {
	MaxRx       uint32 `json:"-"`
	MaxTx       uint32 `json:"-"`
	MaxCombined uint32 `json:"-"`
	Rx          uint32 `json:"rx"`
	Tx          uint32 `json:"tx"`
	Other       uint32 `json:"other"`
	Combined    uint32 `json:"combined"`
}

// receive and transmit are the numbers of queues in each direction.
func (c Channels) receive() int  { return int(c.Rx + c.Combined) }
func (c Channels) transmit() int { return int(c.Tx + c.Combined) }

// pairs is how many receive queues have a transmit queue of the same number, and
// maxPairs how many could.
func (c Channels) pairs() int    { return min(c.receive(), c.transmit()) }
func (c Channels) maxPairs() int { return int(max(c.MaxCombined, min(c.MaxRx, c.MaxTx))) }

// with returns the channels for n pairs of queues.
func (c Channels) with(n int) Channels {
	if c.MaxCombined > 0 {
		c.Combined, c.Rx, c.Tx = uint32(n), 0, 0
	} else {
		c.Rx, c.Tx = uint32(n), uint32(n)
	}
	return c
}

// command is the ethtool command that sets c.
func (c Channels) command(ifname string) string {
	if c.MaxCombined > 0 {
		return fmt.Sprintf("ethtool -L %s combined %d", ifname, c.Combined)
	}
	return fmt.Sprintf("ethtool -L %s rx %d tx %d", ifname, c.Rx, c.Tx)
}

// SetQueues makes the interface use exactly n pairs of queues, and returns their number;
// with n 0 it stays as it is. A frame that arrived on a queue without a socket would go
// to the kernel instead of to us.
func (l *Loan) SetQueues(n int) (int, error) {
	name := l.journal.Interface
	c, err := l.ns.channels(name)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return l.fixedQueues(n)
	}
	if err != nil {
		return 0, fmt.Errorf("channels of %s: %w", name, err)
	}
	if n == 0 {
		n = c.pairs()
	}
	if n > c.maxPairs() {
		return 0, fmt.Errorf("%d queues wanted, %s has at most %d: set queues = %d in the port block", n, name, c.maxPairs(), c.maxPairs())
	}
	if c.receive() == n && c.transmit() >= n {
		return n, nil
	}
	if l.journal.Channels == nil {
		l.journal.Channels = &c
	}
	want := c.with(n)
	if err := l.change("set channels", func() error { return l.setChannels(want) }); err != nil {
		return 0, fmt.Errorf("%w: it has %d queues and %d are wanted: run %q, or set queues = %d in the port block",
			err, c.receive(), n, want.command(name), c.receive())
	}
	return n, nil
}

// fixedQueues is SetQueues for an interface whose driver has no channels to set.
func (l *Loan) fixedQueues(n int) (int, error) {
	s, err := l.State()
	if err != nil {
		return 0, err
	}
	have := max(s.RxQueues, 1)
	if n == 0 || n == have {
		return have, nil
	}
	return 0, fmt.Errorf("%d queues wanted, %s has %d and its driver cannot change that: set queues = %d in the port block",
		n, l.journal.Interface, have, have)
}

func (l *Loan) restoreChannels() error {
	if l.journal.Channels == nil {
		return nil
	}
	now, err := l.ns.channels(l.journal.Interface)
	if err != nil {
		return fmt.Errorf("channels: %w", err)
	}
	was := *l.journal.Channels
	if now.Rx == was.Rx && now.Tx == was.Tx && now.Combined == was.Combined {
		return nil
	}
	if err := l.setChannels(was); err != nil {
		return fmt.Errorf("set channels: %w", err)
	}
	return nil
}

// releasePatience is how long the kernel may take to let go of a closed AF_XDP socket:
// it does so from a work queue, and until then refuses to take the socket's queue away.
const releasePatience = time.Second

// setChannels sets the channels, with patience for sockets that are closed but not gone.
func (l *Loan) setChannels(c Channels) error {
	for deadline := time.Now().Add(releasePatience); ; time.Sleep(5 * time.Millisecond) {
		err := l.ns.setChannels(l.journal.Interface, c)
		if !errors.Is(err, unix.EINVAL) || time.Now().After(deadline) {
			return err
		}
	}
}

// KeepVLANTags stops the card from taking VLAN tags off frames. It moves the tag to
// where XDP does not see it, so that a frame of any VLAN would look untagged. It reports
// false where the driver insists. A veth interface hands over what its peer sends: there
// the peer has to write tags into frames (ethtool -K PEER txvlan off).
func (l *Loan) KeepVLANTags() (bool, error) {
	on, err := l.ns.vlanStrip(l.journal.Interface)
	if err != nil || !on {
		return true, nil // no such offload
	}
	l.journal.VLANStrip = true
	var refused error
	err = l.change("keep VLAN tags", func() error {
		refused = l.ns.setVLANStrip(l.journal.Interface, false)
		return nil
	})
	if err != nil {
		return false, err
	}
	if refused != nil {
		l.journal.VLANStrip = false
		return false, l.journal.save(l.dir)
	}
	return true, nil
}

func (l *Loan) restoreVLANStrip() error {
	if !l.journal.VLANStrip {
		return nil
	}
	if err := l.ns.setVLANStrip(l.journal.Interface, true); err != nil {
		return fmt.Errorf("set rx-vlan-offload: %w", err)
	}
	return nil
}
