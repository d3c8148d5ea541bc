//go:build linux

package netdev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	journalPrefix = "interface-"
	journalSuffix = ".json"
)

// journal is what must be undone on one interface. A zero field was not changed.
type journal struct {
	Interface string         `json:"interface"`
	Index     int            `json:"index"`
	Boot      string         `json:"boot"`                 // the boot in which Index is valid
	SetUp     bool           `json:"set_up,omitempty"`     // it was down before
	MTU       int            `json:"mtu,omitempty"`        // it had this MTU before
	Channels  *Channels      `json:"channels,omitempty"`   // it had these before
	VLANStrip bool           `json:"vlan_strip,omitempty"` // the card took VLAN tags off before
	Addresses []netip.Prefix `json:"addresses,omitempty"`  // we added these
}

// parseJournal reads a journal. It is foreign data: another version, or a disk full at
// the wrong time, may have written it.
func parseJournal(data []byte) (journal, error) {
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return journal{}, err
	}
	switch {
	case !validName(j.Interface):
		return journal{}, fmt.Errorf("%q is not the name of an interface", j.Interface)
	case j.Index <= 0:
		return journal{}, fmt.Errorf("interface index %d", j.Index)
	case j.MTU < 0 || j.MTU > 1<<16:
		return journal{}, fmt.Errorf("MTU %d", j.MTU)
	case slices.ContainsFunc(j.Addresses, func(p netip.Prefix) bool { return !p.IsValid() }):
		return journal{}, errors.New("an address is empty")
	}
	return j, nil
}

// validName applies the kernel's rule for interface names.
func validName(name string) bool {
	return name != "" && len(name) < unix.IFNAMSIZ && name != "." && name != ".." &&
		!strings.ContainsAny(name, "/: \t\n\r\v\f\x00")
}

func journalPath(dir, ifname string) string {
	return filepath.Join(dir, journalPrefix+ifname+journalSuffix)
}

// loadJournal reads the journal of an interface, if there is one that speaks of this
// very interface: not of another with the same name, or of an earlier boot.
func loadJournal(dir string, s State, boot string) (journal, error) {
	path := journalPath(dir, s.Name)
	fresh := journal{Interface: s.Name, Index: s.Index, Boot: boot}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return journal{}, err
	}
	j, err := parseJournal(data)
	if err != nil {
		return journal{}, fmt.Errorf("%s, which holds the original state of %s, cannot be read: %w; set %s by hand as it should be and remove the file",
			path, s.Name, err, s.Name)
	}
	if j.Interface != s.Name || j.Index != s.Index || j.Boot != boot {
		return fresh, nil
	}
	return j, nil
}

// save replaces the file as a whole, so that a crash leaves the old or the new one.
func (j journal) save(dir string) error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := journalPath(dir, j.Interface)
	next := path + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("note the original state of %s: %w", j.Interface, err)
	}
	return os.Rename(next, path)
}

func (j journal) remove(dir string) error {
	err := os.Remove(journalPath(dir, j.Interface))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// bootID names this boot of the machine.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Settle gives back the interfaces that a process which crashed had borrowed with its
// journal in dir, but for those named in keep.
func (n *Namespace) Settle(dir string, keep map[string]bool) error {
	paths, err := filepath.Glob(filepath.Join(dir, journalPrefix+"*"+journalSuffix))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), journalPrefix), journalSuffix)
		if keep[name] {
			continue
		}
		loan, err := n.Borrow(name, dir)
		if errors.Is(err, ErrNoInterface) {
			errs = append(errs, os.Remove(path))
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, loan.Return())
	}
	return errors.Join(errs...)
}
