package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"routerd/config"
)

// maxSocketPath is what struct sockaddr_un holds on every system we run on
// (FreeBSD: 104 bytes with the final zero).
const maxSocketPath = 103

// listener is one control socket that is being served.
type listener struct {
	*net.UnixListener
	config.Socket
}

// listen opens the control socket s: mode 0660, owned by s.Group. A socket file
// nobody answers on is left over from a killed routerd and is replaced.
func listen(ctx context.Context, s config.Socket) (*listener, error) {
	wrap := func(err error) error { return fmt.Errorf("control socket %s: %w", s.Path, err) }
	if len(s.Path) > maxSocketPath {
		return nil, wrap(fmt.Errorf("path is %d bytes long, the system allows %d", len(s.Path), maxSocketPath))
	}
	gid, err := groupID(s.Group)
	if err != nil {
		return nil, wrap(err)
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return nil, wrap(err)
	}
	if err := removeStale(ctx, s.Path); err != nil {
		return nil, wrap(err)
	}
	// The mode is set before bind, so that nobody slips in before chmod; systems
	// that cannot (the error is ignored for them) fall back on the umask.
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := lc.Listen(ctx, "unix", s.Path)
	if err != nil {
		return nil, wrap(err)
	}
	if err := own(s.Path, gid); err != nil {
		l.Close()
		return nil, wrap(err)
	}
	return &listener{l.(*net.UnixListener), s}, nil
}

// groupID returns the id of the named group, or our own for no name.
func groupID(name string) (int, error) {
	if name == "" {
		return os.Getegid(), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("group %q does not exist: create it, or name another in routerd.conf", name)
	}
	return strconv.Atoi(g.Gid)
}

// own gives the socket at path to the group gid and to nobody else.
func own(path string, gid int) error {
	return errors.Join(os.Chown(path, -1, gid), os.Chmod(path, 0o660))
}

// removeStale makes way for a new socket at path, unless something else than a
// dead socket is there.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("the file exists and is no socket: remove it, or name another path in routerd.conf")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		defer conn.Close()
		if pid := peerOf(conn).PID; pid != 0 {
			return fmt.Errorf("%w (pid %d): stop it first", ErrRunning, pid)
		}
		return fmt.Errorf("%w: stop it first", ErrRunning)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot tell whether another routerd is running: %w", err)
	}
	return os.Remove(path)
}
