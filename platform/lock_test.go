package platform

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLockIsForOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := NewLock(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewLock(path)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the second gets %v, want the number of the first", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := NewLock(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestLockNeedsItsDirectory(t *testing.T) {
	if _, err := NewLock(filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
