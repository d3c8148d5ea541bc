//go:build linux

package e2e

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"routerd/fib"
)

// live is the very FIB that the forwarding process looks packets up in, mapped
// read-only, so that no show command stands between a test and the truth.
type live struct{ table *fib.Table }

// live maps the FIB of the running forwarding process for the test's time.
func (w *world) live() live {
	w.t.Helper()
	pid := w.status().Dataplane.PID
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	w.try(err)
	for _, fd := range descriptors {
		target, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(target, "/memfd:") {
			continue
		}
		if table, err := fib.OpenTable(w.mapped(fd)); err == nil {
			return live{table}
		}
	}
	w.t.Fatalf("forwarding process %d holds no FIB in shared memory", pid)
	return live{}
}

func (w *world) mapped(file string) []byte {
	w.t.Helper()
	f, err := os.Open(file)
	w.try(err)
	defer f.Close()
	info, err := f.Stat()
	w.try(err)
	memory, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	w.try(err)
	w.t.Cleanup(func() { _ = syscall.Munmap(memory) })
	return memory
}

// nextHop returns what the FIB does with packets to an address. It must be one next
// hop: the tests that ask have no multipath.
func (l live) nextHop(a netip.Addr) fib.NextHop {
	b := a.As4()
	var members [fib.MaxMembers]uint16
	n := l.table.Members(l.table.Lookup(binary.BigEndian.Uint32(b[:])), &members)
	if n == 0 {
		return fib.NextHop{}
	}
	return l.table.NextHop(members[0])
}
