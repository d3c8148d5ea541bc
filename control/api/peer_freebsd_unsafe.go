//go:build freebsd

package api

import "golang.org/x/sys/unix"

// solLocal is SOL_LOCAL of sys/un.h, the level of unix(4) socket options.
const solLocal = 0

// credentials asks LOCAL_PEERCRED (unix(4)), which on the releases we support
// tells no process id in a form x/sys reads.
func credentials(fd int) peer {
	c, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return nobody
	}
	return peer{UID: int(c.Uid)}
}
