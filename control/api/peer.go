package api

import (
	"fmt"
	"net"
	"os/user"
	"strconv"
)

// peer is the process at the other end of a control connection, as the kernel
// vouches for it. UID is -1 where the system does not tell.
type peer struct {
	UID int
	PID int // 0: not told
}

var nobody = peer{UID: -1}

// peerOf returns the credentials behind c.
func peerOf(c net.Conn) peer {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nobody
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nobody
	}
	p := nobody
	if err := raw.Control(func(fd uintptr) { p = credentials(int(fd)) }); err != nil {
		return nobody
	}
	return p
}

// String names the peer as logs and `show status` do: alice (uid 1001).
func (p peer) String() string {
	if p.UID < 0 {
		return "unknown user"
	}
	if u, err := user.LookupId(strconv.Itoa(p.UID)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, p.UID)
	}
	return fmt.Sprintf("uid %d", p.UID)
}
