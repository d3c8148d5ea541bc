package config

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the golden files")

var equal = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

// TestGolden parses every testdata/*.conf. What parses must format to the .ok beside
// it, which must parse to the same; what does not must fail with the .err.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.conf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".conf"), func(t *testing.T) {
			c, _, err := Load(file)
			base := strings.TrimSuffix(file, ".conf")
			if err != nil {
				golden(t, base+".err", err.Error()+"\n")
				return
			}
			golden(t, base+".ok", string(Format(c)))
			again, err := Parse("formatted", Format(c))
			if err != nil {
				t.Fatalf("formatted text does not parse:\n%v", err)
			}
			if d := cmp.Diff(c, again, equal); d != "" {
				t.Errorf("formatted text means something else (-want +got):\n%s", d)
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update after a look at the difference)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

func TestShippedExample(t *testing.T) {
	c, _, err := Load("../etc/routerd.conf")
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("the example has warnings: %q", w)
	}
	golden(t, "testdata/shipped.ok", string(Format(c)))
}
