//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRatiosAreOfRounds(t *testing.T) {
	got := ratios([]float64{2, 9, 8}, []float64{1, 3, 4})
	if diff := cmp.Diff([]float64{2, 3, 2}, got); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
	if m := median(got); m != 2 {
		t.Errorf("median %v, want 2", m)
	}
}

func TestResultsWithoutDPDK(t *testing.T) {
	r := &results{
		names:   []string{"fib.LookupBatch"},
		lookups: map[string]map[string][]float64{"fib.LookupBatch": {"pfx": {300, 100, 200}}},
		loads:   map[string][]float64{"fib.LookupBatch": {0.1}},
		removes: map[string][]float64{"fib.LookupBatch": {5}},
		adds:    map[string][]float64{"fib.LookupBatch": {10}},
	}
	var out bytes.Buffer
	if err := r.print(&out, options{batch: 128, rounds: 3, streams: []string{"pfx"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"200 [100-300]", "0.100", "5.00 [5.00-5.00]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), scalarPeer) {
		t.Errorf("ratios to a peer that was not measured:\n%s", out.String())
	}
}

func TestFilesKeepRoutes(t *testing.T) {
	dir := t.TempDir()
	want := []route{{10 << 24, 1, 8}, {1<<32 - 1, 64, 32}}
	if err := writeFile(dir, "routes", want); err != nil {
		t.Fatal(err)
	}
	got, err := readFile[route](dir, "routes")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
