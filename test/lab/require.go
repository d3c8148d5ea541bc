//go:build linux

package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Require opens a lab for a test and closes it after the test. Where the machine
// cannot have one, or lacks one of the programs, the test skips and says why; with
// ROUTERD_E2E=require in the environment it fails instead.
func Require(t testing.TB, programs ...string) *Lab {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, "no "+program+" command on this machine")
		}
	}
	l, err := Open("", t.TempDir())
	if err != nil {
		skip(t, err.Error())
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			showLogs(t, l.Dir)
		}
	})
	return l
}

func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("ROUTERD_E2E") == "require" {
		t.Fatal("end-to-end tests are required here: ", reason)
	}
	t.Skip(reason)
}

func showLogs(t testing.TB, dir string) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, path := range paths {
		p := Process{Name: filepath.Base(path), LogFile: path}
		t.Logf("end of %s\n%s", filepath.Base(path), p.Tail())
	}
}

// Deadline returns the context of one test: it ends with the test or after limit,
// a bound on how long a broken test may hang and not a measure of speed.
func Deadline(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
