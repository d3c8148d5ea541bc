package platform

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	addSeals   = unix.F_ADD_SEALS
	getSeals   = unix.F_GET_SEALS
	sealShrink = unix.F_SEAL_SHRINK
	sealGrow   = unix.F_SEAL_GROW
	sealSeal   = unix.F_SEAL_SEAL
)

func createMemory(name string, flags int) (int, error) {
	return unix.MemfdCreate("routerd-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flags)
}

var errSmall = errors.New("smaller than a huge page")

// newHugeMemory makes memory of reserved huge pages; mapping fails when too few are left.
func newHugeMemory(name string, size int) (*SharedMemory, error) {
	if size < hugePage {
		return nil, errSmall
	}
	fd, err := createMemory(name, unix.MFD_HUGETLB|unix.MFD_HUGE_2MB)
	if err != nil {
		return nil, err
	}
	m, err := sizeAndMap(fd, size, roundUp(size, hugePage))
	if err != nil {
		return nil, err
	}
	m.pages = "hugetlb"
	return m, nil
}

// adviseHuge asks for transparent huge pages and tells what the system does.
func adviseHuge(b []byte) string {
	policy, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
	if err != nil || len(b) < hugePage || strings.Contains(string(policy), "[never]") ||
		strings.Contains(string(policy), "[deny]") || unix.Madvise(b, unix.MADV_HUGEPAGE) != nil {
		return smallPages()
	}
	return "transparent huge pages where possible"
}
