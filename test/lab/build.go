//go:build linux

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles commands of this module, static, into dir and returns their paths
// in the same order.
func Build(dir string, packages ...string) ([]string, error) {
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, packages...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %v: %w\n%s", packages, err, out)
	}
	paths := make([]string, len(packages))
	for i, p := range packages {
		paths[i] = filepath.Join(dir, filepath.Base(p))
	}
	return paths, nil
}
