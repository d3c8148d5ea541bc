package platform

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Waiter lets a worker thread sleep until frames arrive or somebody wakes it. Wait is for
// one goroutine, Wake for any. Neither allocates.
type Waiter struct {
	wakeup [2]int // a pipe: read end, write end
	polled []unix.PollFd
	drain  [64]byte
}

// NewWaiter makes a Waiter.
func NewWaiter() (*Waiter, error) {
	w := &Waiter{}
	if err := unix.Pipe2(w.wakeup[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("pipe to wake a worker: %w", err)
	}
	w.polled = append(w.polled, unix.PollFd{Fd: int32(w.wakeup[0]), Events: unix.POLLIN})
	return w, nil
}

// Wait blocks until a descriptor of fds is readable, Wake was called since the last
// Wait, or timeoutMillis milliseconds are over; a negative timeout never ends, and
// negative descriptors are passed over. It may return early.
func (w *Waiter) Wait(fds []int, timeoutMillis int) {
	w.polled = w.polled[:1]
	for _, fd := range fds {
		w.polled = append(w.polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	w.polled[0].Revents = 0
	if n, err := unix.Poll(w.polled, timeoutMillis); err != nil || n == 0 {
		return
	}
	if w.polled[0].Revents != 0 {
		_, _ = unix.Read(w.wakeup[0], w.drain[:])
	}
}

// Wake ends the current Wait, or the next one if none is going on.
func (w *Waiter) Wake() {
	_, _ = unix.Write(w.wakeup[1], wakeByte[:]) // a full pipe wakes as well
}

var wakeByte [1]byte

// Close frees the Waiter; neither Wait nor Wake may be going on or be called again.
func (w *Waiter) Close() error {
	err := unix.Close(w.wakeup[1])
	if e := unix.Close(w.wakeup[0]); err == nil {
		err = e
	}
	return err
}
