//go:build linux

package lab

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// Namespace is one host or router of the lab.
type Namespace struct {
	Name string // as ip netns knows it
	lab  *Lab
}

// Namespace adds a host: loopback up, no IPv6, no reverse path filter, no
// forwarding.
func (l *Lab) Namespace(name string) (*Namespace, error) {
	n := &Namespace{Name: prefix + l.owner + "-" + name, lab: l}
	if err := ip("netns", "add", n.Name); err != nil {
		return nil, err
	}
	l.spaces = append(l.spaces, n)
	if err := n.IP("link", "set", "lo", "up"); err != nil {
		return nil, err
	}
	for key, value := range map[string]string{
		"net.ipv6.conf.all.disable_ipv6":     "1",
		"net.ipv6.conf.default.disable_ipv6": "1",
		"net.ipv4.conf.all.rp_filter":        "0",
		"net.ipv4.conf.default.rp_filter":    "0",
		"net.ipv4.ip_forward":                "0",
	} {
		if err := n.Sysctl(key, value); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// IP runs `ip -n NAMESPACE ARGS`.
func (n *Namespace) IP(args ...string) error {
	return ip(append([]string{"-n", n.Name}, args...)...)
}

// Sysctl sets one key, written with dots, inside the namespace. A key the kernel
// does not have is no error where it belongs to IPv6.
func (n *Namespace) Sysctl(key, value string) error {
	return n.Do(func() error {
		err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(key, ".", "/"), []byte(value), 0)
		if errors.Is(err, os.ErrNotExist) && strings.HasPrefix(key, "net.ipv6.") {
			return nil
		}
		return err
	})
}

// MAC returns the hardware address of an interface.
func (n *Namespace) MAC(ifname string) (mac net.HardwareAddr, err error) {
	err = n.Do(func() error {
		link, err := net.InterfaceByName(ifname)
		if err == nil {
			mac = link.HardwareAddr
		}
		return err
	})
	return mac, err
}

// Do calls f on a thread inside the namespace. Sockets that f opens stay in the
// namespace; f must not start goroutines that open others.
func (n *Namespace) Do(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := netns.Get()
		if err != nil {
			result <- err
			return // the locked thread ends with its goroutine
		}
		defer home.Close()
		there, err := netns.GetFromName(n.Name)
		if err != nil {
			result <- fmt.Errorf("namespace %s: %w", n.Name, err)
			return
		}
		defer there.Close()
		if err := netns.Set(there); err != nil {
			result <- fmt.Errorf("enter namespace %s: %w", n.Name, err)
			return
		}
		err = f()
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}

// Command returns a command that will run inside the namespace.
func (n *Namespace) Command(argv ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.Name}, argv...)...)
}

// Output runs a command to its end and returns its standard output. The error
// carries its standard error and, as *exec.ExitError, its exit code.
func (n *Namespace) Output(argv ...string) ([]byte, error) {
	cmd := n.Command(argv...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
