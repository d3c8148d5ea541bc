package main

import (
	"bufio"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"routerd/control/api"
	"routerd/control/api/apitest"
	"routerd/dataplane"
)

// A reason for which packets are dropped is in the manual, in its own words, and is a label
// of the metric; the manual has no others.
func TestDropReasonsInManualAndMetrics(t *testing.T) {
	want := make(map[string]string)
	for i := range dataplane.DropReasons {
		want[dataplane.DropReason(i).String()] = dataplane.DropReason(i).Meaning()
	}
	if len(want) != dataplane.DropReasons {
		t.Error("two reasons have one name")
	}
	if diff := cmp.Diff(want, manualReasons(t)); diff != "" {
		t.Errorf("DROP REASONS in routerd(8): %s", diff)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(api.NewCollector(dropsOnly{Backend: apitest.Edge(), r: new(router)}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, family := range families {
		if family.GetName() == "routerd_drops_total" {
			for _, m := range family.GetMetric() {
				labels = append(labels, m.GetLabel()[0].GetValue())
			}
		}
	}
	slices.Sort(labels)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), labels); diff != "" {
		t.Errorf("reasons of routerd_drops_total: %s", diff)
	}
}

// dropsOnly has the drops of a router, and everything else of another Backend.
type dropsOnly struct {
	api.Backend
	r *router
}

func (d dropsOnly) Drops(ctx context.Context) ([]api.Drop, error) { return d.r.Drops(ctx) }

// manualReasons reads the reasons and their sentences out of the manual page.
func manualReasons(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.Open("../../etc/man/routerd.8")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	reasons, section, name := make(map[string]string), "", ""
	for lines := bufio.NewScanner(page); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, ".Sh "):
			section, name = line[4:], ""
		case section != "DROP REASONS":
		case strings.HasPrefix(line, ".It "):
			name = line[4:]
		case strings.HasPrefix(line, "."):
			name = ""
		case name != "":
			reasons[name] = strings.TrimSpace(reasons[name] + " " + line)
		}
	}
	return reasons
}
