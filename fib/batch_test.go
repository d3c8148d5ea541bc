package fib

import "testing"

func TestLookupBatchOfEveryLength(t *testing.T) {
	w, table := newFIB(t, Options{})
	groups := newGroups(t, w, 3)
	for i, p := range []string{"10.0.0.0/8", "10.0.0.32/27", "10.0.1.0/24"} {
		if err := w.Set(prefix(p), groups[i]); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 70 {
		dst, out := make([]uint32, n), make([]uint16, n+1)
		for i := range dst {
			dst[i] = 10<<24 + uint32(i*n) - 3
		}
		out[n] = 4711
		table.LookupBatch(dst, out)
		for i, a := range dst {
			if want := table.Lookup(a); out[i] != want {
				t.Fatalf("batch of %d: out[%d] = %d, want %d", n, i, out[i], want)
			}
		}
		if out[n] != 4711 {
			t.Fatalf("batch of %d wrote behind its end", n)
		}
	}
}
