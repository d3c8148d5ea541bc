package platform

import (
	"testing"

	"golang.org/x/sys/unix"
)

func newWaiter(t testing.TB) *Waiter {
	t.Helper()
	w, err := NewWaiter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// Every Wait without an end below hangs, and the test with it, if the Waiter fails.

func TestWakeEndsWait(t *testing.T) {
	w := newWaiter(t)
	for range 100 {
		go w.Wake()
		w.Wait(nil, -1)
	}
}

func TestWakeBeforeWaitIsNotLost(t *testing.T) {
	w := newWaiter(t)
	for range 100_000 { // more than any pipe holds
		w.Wake()
	}
	w.Wait([]int{-1}, -1)
}

func TestReadableDescriptorEndsWait(t *testing.T) {
	w := newWaiter(t)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if _, err := unix.Write(p[1], []byte{1}); err != nil {
		t.Fatal(err)
	}
	w.Wait([]int{-1, p[0]}, -1)
}

func TestWaitEndsByItself(t *testing.T) {
	w := newWaiter(t)
	w.Wait([]int{-1}, 1)
	w.Wait(nil, 0)
}

func TestWaitDoesNotAllocate(t *testing.T) {
	w := newWaiter(t)
	fds := []int{-1, -1, -1}
	if n := testing.AllocsPerRun(100, func() { w.Wake(); w.Wait(fds, -1); w.Wait(fds, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
