//go:build !race

package fib

import "testing"

func TestNoAllocations(t *testing.T) {
	w, table := newFIB(t, Options{})
	one, many := newGroup(t, w, gateway(0)), newGroup(t, w, gateway(1), gateway(2), gateway(3), gateway(4), gateway(5))
	for p, g := range map[string]uint16{"0.0.0.0/0": one, "10.0.0.0/8": many, "10.0.0.0/32": one} {
		if err := w.Set(prefix(p), g); err != nil {
			t.Fatal(err)
		}
	}
	dst := make([]uint32, 128)
	for i := range dst {
		dst[i] = 10<<24 | uint32(i)
	}
	out := make([]uint16, len(dst))
	var members [MaxMembers]uint16
	sum := uint16(0)
	p := prefix("10.1.0.0/16")
	for name, f := range map[string]func(){
		"LookupBatch": func() { table.LookupBatch(dst, out) },
		"Lookup":      func() { sum += table.Lookup(dst[0]) },
		"Only":        func() { nh, _ := table.Only(one); sum += nh },
		"Select":      func() { sum += table.Select(many, 3) + table.Select(one, 3) },
		"Members":     func() { sum += uint16(table.Members(many, &members)) },
		"NextHop":     func() { sum += table.NextHop(1).Port },
		"Set, Delete": func() {
			if w.Set(p, many) != nil || w.Set(p, one) != nil {
				t.Error("Set failed")
			}
			if ok, _ := w.Delete(p); !ok {
				t.Error("Delete failed")
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
