//go:build linux

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles commands of this module, static, into dir and returns their paths
// in the same order. With ROUTERD_RACE set they have the race detector instead, and a
// process that it catches ends there.
func Build(dir string, packages ...string) ([]string, error) {
	flags, cgo := []string{"build"}, "CGO_ENABLED=0"
	if os.Getenv("ROUTERD_RACE") != "" {
		flags, cgo = append(flags, "-race"), "CGO_ENABLED=1"
		if err := os.Setenv("GORACE", "halt_on_error=1"); err != nil {
			return nil, err
		}
	}
	args := append(append(flags, "-o", dir+string(filepath.Separator)), packages...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %v: %w\n%s", packages, err, out)
	}
	paths := make([]string, len(packages))
	for i, p := range packages {
		paths[i] = filepath.Join(dir, filepath.Base(p))
	}
	return paths, nil
}
