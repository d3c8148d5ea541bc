package platform

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process holds a lock.
var ErrLocked = errors.New("already running")

// Lock is a file that one process at a time holds. The lock ends with the process.
type Lock struct {
	file *os.File
}

// NewLock takes the lock at path and writes the process's number into it. The error is
// ErrLocked, with the number of the process that has it.
func NewLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w: run as root, or name another run directory with --run-dir", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("%w: %s is held by %s; stop it, or give this one another run directory", ErrLocked, path, holder(f))
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	return &Lock{file: f}, nil
}

// holder reads who has the lock; a holder that has just begun may not have written yet.
func holder(f *os.File) string {
	data, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(data))
	if err != nil || pid == "" {
		return "another process"
	}
	return "process " + pid
}

// Close gives the lock up. The file stays: removing it would let two processes each hold
// a lock of the same name.
func (l *Lock) Close() error { return l.file.Close() }
