package realtable_test

import (
	"testing"

	"routerd/fib/realtable"
)

func TestPrefixes(t *testing.T) {
	prefixes, err := realtable.Prefixes()
	if err != nil {
		t.Fatal(err)
	}
	if len(prefixes) != 901_899 {
		t.Errorf("%d prefixes, want 901,899", len(prefixes))
	}
	for _, p := range prefixes {
		if !p.Addr().Is4() || p != p.Masked() {
			t.Fatalf("%v is not a masked IPv4 prefix", p)
		}
	}
}
