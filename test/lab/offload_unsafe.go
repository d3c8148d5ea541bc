//go:build linux

package lab

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// disableOffloads turns off, by the SIOCETHTOOL ioctl (linux/ethtool.h), what
// leaves a frame unfinished on a veth pair.
func disableOffloads(ifname string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, feature := range []struct {
		name string
		cmd  uint32
	}{
		{"tso", unix.ETHTOOL_STSO},
		{"gso", unix.ETHTOOL_SGSO},
		{"gro", unix.ETHTOOL_SGRO},
		{"tx checksum", unix.ETHTOOL_STXCSUM},
	} {
		value := struct{ cmd, data uint32 }{cmd: feature.cmd}
		request := struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte // the rest of struct ifreq's union
		}{data: unsafe.Pointer(&value)}
		copy(request.name[:unix.IFNAMSIZ-1], ifname)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(&value)
		if errno != 0 {
			return fmt.Errorf("turn off %s: %w", feature.name, errno)
		}
	}
	return nil
}
