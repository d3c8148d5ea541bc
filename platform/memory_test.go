package platform

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMemoryIsShared(t *testing.T) {
	for _, size := range []int{1, 4096, 5000, hugePage + 1} {
		m, err := NewSharedMemory("test", size)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		reader, err := OpenSharedMemory(m.FD(), size, false)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		writer, err := OpenSharedMemory(m.FD(), size, true)
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		m.Bytes()[size-1] = 7
		if len(reader.Bytes()) != size || reader.Bytes()[size-1] != 7 {
			t.Errorf("%d bytes: what was written is not read", size)
		}
		writer.Bytes()[0] = 9
		if reader.Bytes()[0] != 9 {
			t.Errorf("%d bytes: the second mapping cannot write", size)
		}
		if err := unix.Ftruncate(m.FD(), 0); err == nil {
			t.Errorf("%d bytes: the memory could be taken away", size)
		}
		t.Log(size, m.Pages())
	}
}

func TestForeignMemoryIsRefused(t *testing.T) {
	m, err := NewSharedMemory("test", 8192)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	unsealed, err := createMemory("unsealed", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(unsealed)
	if err := unix.Ftruncate(unsealed, 8192); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name string
		fd   int
		want string
	}{
		{"another size", m.FD(), "it has 8192 bytes, not 4096: the other process is of another version"},
		{"unsealed", unsealed, "its size is not sealed"},
		{"a file", int(file.Fd()), "is not anonymous memory"},
		{"nothing", -1, "descriptor -1"},
	} {
		got, err := OpenSharedMemory(c.fd, 4096, false)
		if got != nil || !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than a line: %q", c.name, err)
		}
	}
	if _, err := NewSharedMemory("test", 0); err == nil {
		t.Error("memory of no bytes was made")
	}
}
