//go:build linux

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed dpdk/lookup.c
var lookupC []byte

// competitor is one implementation in a process; processes may have several.
type competitor struct {
	name    string
	kind    string // what its process calls it
	updates bool   // measure updates here
	*process
}

// The names that ratios are taken to.
const (
	scalarPeer = "rte_lpm bulk"
	vectorPeer = "rte_fib AVX-512"
)

// start starts our process twice, with and without assembly, and DPDK's if it is there.
func start(dir string) ([]competitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ours, err := startProcess("GODEBUG=", self, "-worker", dir)
	if err != nil {
		return nil, err
	}
	all := []competitor{{"fib.LookupBatch", "fib", true, ours}}
	inGo, err := startProcess("GODEBUG=cpu.avx2=off,cpu.avx512f=off", self, "-worker", dir)
	if err != nil {
		stop(all)
		return nil, err
	}
	all = append(all, competitor{"fib.LookupBatch, pure Go", "fib", false, inGo})
	program, err := build(dir)
	if errors.Is(err, errNoDPDK) {
		fmt.Println(err)
		return all, nil
	}
	if err != nil {
		stop(all)
		return nil, err
	}
	dpdk, err := startProcess("", program, dir, pages())
	if err != nil {
		stop(all)
		return nil, fmt.Errorf("DPDK: %w", err)
	}
	return append(all,
		competitor{scalarPeer, "rte_lpm-bulk", false, dpdk},
		competitor{"rte_lpm x4", "rte_lpm-x4", false, dpdk},
		competitor{"rte_fib scalar", "rte_fib-scalar", false, dpdk},
		competitor{vectorPeer, "rte_fib-avx512", true, dpdk}), nil
}

func stop(all []competitor) {
	var stopped []*process
	for _, c := range all {
		if !slices.Contains(stopped, c.process) {
			c.stop()
			stopped = append(stopped, c.process)
		}
	}
}

var errNoDPDK = errors.New("DPDK is not measured: apt-get install gcc pkg-config libdpdk-dev")

// build compiles the C half for this very CPU.
func build(dir string) (string, error) {
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "libdpdk").Output()
	if err != nil {
		return "", errNoDPDK
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return "", errNoDPDK
	}
	source, program := filepath.Join(dir, "lookup.c"), filepath.Join(dir, "lookup")
	if err := os.WriteFile(source, lookupC, 0o600); err != nil {
		return "", err
	}
	args := append([]string{"-O3", "-o", program, source}, strings.Fields(string(flags))...)
	if out, err := exec.Command("gcc", append(args, "-march=native")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return program, nil
}

// pages tells the DPDK process which pages to take: what is left must do for its
// tables, and rte_fib keeps 450 MB beside them.
func pages() string {
	const needed = 320
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "small"
	}
	for line := range strings.Lines(string(info)) {
		var free int
		if n, _ := fmt.Sscanf(line, "HugePages_Free: %d", &free); n == 1 && free >= needed {
			return "huge"
		}
	}
	return "small"
}
