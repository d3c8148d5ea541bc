// Package realtable gives tests and benchmarks a real IPv4 routing table: the
// 901,899 IPv4 prefixes of the test data of github.com/gaissmai/bart, read from
// Go's module cache. It is no part of any program.
package realtable

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	module = "github.com/gaissmai/bart"
	file   = "internal/tests/testdata/prefixes.txt.gz"
)

// Prefixes returns the table in the order of the file. Each caller gets its own
// slice. It needs the go command and a working directory inside this module, as
// a test has.
func Prefixes() ([]netip.Prefix, error) {
	prefixes, err := load()
	if err != nil {
		return nil, fmt.Errorf("real table: %w", err)
	}
	return slices.Clone(prefixes), nil
}

var load = sync.OnceValues(func() ([]netip.Prefix, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m %s: %w", module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return nil, fmt.Errorf("%s is not in the module cache: run go mod download %s", module, module)
	}
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(bufio.NewReader(f))
})

func parse(r *bufio.Reader) ([]netip.Prefix, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var prefixes []netip.Prefix
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		p, err := netip.ParsePrefix(lines.Text())
		if err != nil {
			return nil, err
		}
		if p.Addr().Is4() {
			prefixes = append(prefixes, p)
		}
	}
	return prefixes, lines.Err()
}
