//go:build linux

package lab

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	netnsDir = "/run/netns"
	prefix   = "rd-" // every namespace is called rd-OWNER-NAME
)

// Lab is a set of namespaces, the processes in them and a directory for their
// files.
type Lab struct {
	Dir    string // files of the lab: logs, configurations, sockets
	owner  string
	spaces []*Namespace
}

// Open makes an empty lab with its files in dir. An empty owner gives it a name
// of this run; a fixed owner, such as "demo", lets it outlive the process.
// Namespaces of earlier runs whose process is gone are removed first.
func Open(owner, dir string) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces need root: run as root or with sudo")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, errors.New("no ip command: install iproute2")
	}
	if err := RemoveStale(); err != nil {
		return nil, err
	}
	if owner == "" {
		owner = strconv.Itoa(os.Getpid()) + "x" + strings.ToLower(rand.Text()[:4])
	} else if found, err := owned(owner); err != nil {
		return nil, err
	} else if len(found) > 0 {
		return nil, fmt.Errorf("lab %q already runs (%s)", owner, strings.Join(found, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Lab{Dir: dir, owner: owner}, nil
}

// Close kills every process in the lab's namespaces and removes them. The files
// stay.
func (l *Lab) Close() error {
	var errs []error
	for _, n := range slices.Backward(l.spaces) {
		errs = append(errs, removeNamespace(n.Name))
	}
	l.spaces = nil
	return errors.Join(errs...)
}

// Path returns the path of a file of the lab.
func (l *Lab) Path(name string) string { return filepath.Join(l.Dir, name) }

// Remove takes down the lab that was opened under a fixed owner, if it runs.
func Remove(owner string) error {
	found, err := owned(owner)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range found {
		errs = append(errs, removeNamespace(name))
	}
	return errors.Join(errs...)
}

func owned(owner string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(netnsDir, prefix+owner+"-*"))
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths, err
}

// RemoveStale removes the namespaces of runs whose process is dead, and what runs in them.
func RemoveStale() error {
	names, err := owned("*x*")
	if err != nil {
		return err
	}
	for _, name := range names {
		owner, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		digits, _, _ := strings.Cut(owner, "x")
		pid, err := strconv.Atoi(digits)
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if err := removeNamespace(name); err != nil {
			return fmt.Errorf("left by process %d: %w", pid, err)
		}
	}
	return nil
}

// removeNamespace kills what runs in a namespace and deletes it.
func removeNamespace(name string) error {
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		pids, err := processesIn(name)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return ip("netns", "del", name)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("namespace %s: processes %v do not die", name, pids)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-tick.C
	}
}

// processesIn lists the processes of a namespace, this one excepted.
func processesIn(name string) ([]int, error) {
	out, err := exec.Command("ip", "netns", "pids", name).Output()
	if err != nil {
		return nil, fmt.Errorf("ip netns pids %s: %w", name, err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// ip runs the ip command; its error carries what ip said.
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
