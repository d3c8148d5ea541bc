//go:build linux

package afxdp

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// memory is a mapping outside the Go heap whose pages stay where they are.
type memory struct {
	bytes    []byte // page-aligned, may be longer than asked for
	pageSize int
	how      string // "hugetlb", "transparent huge pages", "4 KiB pages"
	mapping  []byte
}

// mapMemory maps at least size bytes, on huge pages if the system has them to give.
func mapMemory(size int) (memory, error) {
	const anonymous = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_POPULATE
	const access = unix.PROT_READ | unix.PROT_WRITE
	size = (size + hugePage - 1) &^ (hugePage - 1)
	if b, err := unix.Mmap(-1, 0, size, access, anonymous|unix.MAP_HUGETLB); err == nil {
		return memory{bytes: b, pageSize: hugePage, how: "hugetlb", mapping: b}, nil
	}
	b, err := unix.Mmap(-1, 0, size+hugePage, access, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return memory{}, err
	}
	start := -int(address(b)) & (hugePage - 1)
	m := memory{bytes: b[start : start+size], pageSize: os.Getpagesize(), mapping: b}
	m.how = fmt.Sprintf("%d KiB pages", m.pageSize>>10)
	if unix.Madvise(m.bytes, unix.MADV_HUGEPAGE) == nil {
		touch(m.bytes)
		if isHuge(uint64(address(m.bytes)), uint64(size)) {
			m.pageSize, m.how = hugePage, "transparent huge pages"
		}
	}
	touch(m.bytes)
	return m, nil
}

func (m memory) unmap() { _ = unix.Munmap(m.mapping) }

// touch makes the kernel provide every page.
func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 0
	}
}

// isHuge tells whether the size bytes at start are all on transparent huge pages.
func isHuge(start, size uint64) bool {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return false
	}
	defer f.Close()
	return hugeBytes(bufio.NewScanner(f), start) >= size
}

// hugeBytes reads smaps(5) for the bytes on huge pages of the mapping with address at.
func hugeBytes(smaps *bufio.Scanner, at uint64) uint64 {
	inside := false
	for smaps.Scan() {
		fields := strings.Fields(smaps.Text())
		if len(fields) == 0 {
			continue
		}
		if from, to, ok := strings.Cut(fields[0], "-"); ok {
			low, err1 := strconv.ParseUint(from, 16, 64)
			high, err2 := strconv.ParseUint(to, 16, 64)
			inside = err1 == nil && err2 == nil && low <= at && at < high
		} else if inside && fields[0] == "AnonHugePages:" && len(fields) > 1 {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
