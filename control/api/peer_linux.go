package api

import "syscall"

// credentials asks SO_PEERCRED (unix(7)).
func credentials(fd int) peer {
	c, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return nobody
	}
	return peer{UID: int(c.Uid), PID: int(c.Pid)}
}
