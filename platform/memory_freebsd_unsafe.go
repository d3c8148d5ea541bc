//go:build freebsd

package platform

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FreeBSD 13's sys/fcntl.h and sys/mman.h, which golang.org/x/sys does not have.
const (
	addSeals   = 19 // F_ADD_SEALS
	getSeals   = 20 // F_GET_SEALS
	sealSeal   = 1
	sealShrink = 2
	sealGrow   = 4

	sysShmOpen2     = 571
	shmAnon         = 1
	shmAllowSealing = 1
)

func createMemory(name string, _ int) (int, error) {
	label, err := unix.BytePtrFromString("routerd-" + name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(sysShmOpen2, shmAnon, unix.O_RDWR|unix.O_CLOEXEC, 0o600, shmAllowSealing,
		uintptr(unsafe.Pointer(label)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

var errAutomatic = errors.New("superpages come by themselves")

func newHugeMemory(string, int) (*SharedMemory, error) { return nil, errAutomatic }

func adviseHuge([]byte) string { return smallPages() + ", superpages where possible" }
