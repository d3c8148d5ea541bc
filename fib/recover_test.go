//go:build !race

package fib

import (
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A killed writer leaves the truth (exact prefixes, groups) of before or after
// its operation, and any mixture in what is derived from it: live entries,
// extended entries, depths.
func TestRecoveryMendsWhateverIsDerived(t *testing.T) {
	table, writer := newSegments(t)
	w, _ := attach(t, table, writer, Options{})
	groups := newGroups(t, w, 20)
	model := slowList{}
	r := rand.New(rand.NewPCG(6, 7))
	for range 4 {
		for range 300 {
			p := randomPrefix(r)
			model[p] = groups[r.IntN(len(groups))]
			if err := w.Set(p, model[p]); err != nil {
				t.Fatal(err)
			}
		}
		damage := map[*uint16]bool{}
		for p := range model {
			slot := hostOrder(p.Addr()) >> 8
			entry := &w.table.entries[slot]
			switch x := w.extended.get(slot); r.IntN(4) {
			case 0:
				storeEntry(entry, 0)
				damage[entry] = true
			case 1:
				storeEntry(entry, uint16(r.Uint32()))
				damage[entry] = true
			case 2:
				w.depths[slot] = uint8(r.Uint32())
			case 3:
				i := r.IntN(256)
				storeEntry(&w.extendedEntries(x)[i], uint16(r.Uint32()))
				w.extendedDepth[x][i] = uint8(r.Uint32())
			}
		}
		var reader *Table
		w, reader = attach(t, table, writer, Options{})
		if got := w.Stats().Repaired; got < len(damage)/2 {
			t.Errorf("%d entries mended, some %d were damaged", got, len(damage))
		}
		for p := range model {
			check(t, w, reader, model, p)
		}
		checkAll(t, w, model)
		// The next writer has no groups but those that prefixes point to.
		for _, g := range groups {
			if w.live(g) {
				continue
			}
			t.Fatalf("group %d is lost", g)
		}
	}
}

// Each state is what a kill right after one of the stores of an operation
// leaves behind.
func TestRecoveryFinishesOrUndoes(t *testing.T) {
	def, slash8, slash25 := prefix("0.0.0.0/0"), prefix("10.0.0.0/8"), prefix("10.0.0.128/25")
	const slot = 10 << 16
	for _, tc := range []struct {
		name  string
		setup slowList // 1 and 2 are the two groups
		kill  func(w *Writer, a, b uint16)
		want  slowList
	}{
		{"set: only the exact prefix is there", nil,
			func(w *Writer, a, b uint16) {
				w.head.lengths |= 1 << 8
				w.exact[exactIndex(slot, 8)] = a
			},
			slowList{slash8: 1}},
		{"set: the length is announced, nothing else", slowList{slash8: 1},
			func(w *Writer, a, b uint16) { w.head.lengths |= 1 << 25 },
			slowList{slash8: 1}},
		{"replace: half of the entries", slowList{slash8: 1},
			func(w *Writer, a, b uint16) {
				w.exact[exactIndex(slot, 8)] = b
				for i := range uint32(1 << 15) {
					storeEntry(&w.table.entries[slot+i], b)
				}
			},
			slowList{slash8: 2}},
		{"delete: only the exact prefix is gone", slowList{slash8: 1},
			func(w *Writer, a, b uint16) { w.exact[exactIndex(slot, 8)] = 0 },
			slowList{}},
		{"default: group 0 does not follow yet", slowList{slash8: 2},
			func(w *Writer, a, b uint16) {
				w.head.lengths |= 1
				w.exact[1] = a
			},
			slowList{def: 1, slash8: 2}},
		{"default deleted: group 0 does not follow yet", slowList{def: 1, slash8: 2},
			func(w *Writer, a, b uint16) { w.exact[1] = 0 },
			slowList{slash8: 2}},
		{"long set: extended group owned, empty", slowList{slash8: 1},
			func(w *Writer, a, b uint16) { w.owners[77] = slot + 1 },
			slowList{slash8: 1}},
		{"long set: extended group not filled, not published", slowList{slash8: 1},
			func(w *Writer, a, b uint16) {
				w.head.lengths |= 1 << 25
				w.owners[77] = slot + 1
				w.extendedExact[77][longIndex(128, 25)] = b
			},
			slowList{slash8: 1, slash25: 2}},
		{"long delete: exact prefix gone, extended group still linked", slowList{slash8: 1, slash25: 2},
			func(w *Writer, a, b uint16) { *w.place(key{hostOrder(slash25.Addr()), 25}) = 0 },
			slowList{slash8: 1}},
		{"long delete: unlinked and waiting for readers", slowList{slash8: 1, slash25: 2},
			func(w *Writer, a, b uint16) {
				*w.place(key{hostOrder(slash25.Addr()), 25}) = 0
				storeEntry(&w.table.entries[slot], a)
				w.owners[w.extended.get(slot)] = ownerRetired
			},
			slowList{slash8: 1}},
		{"new next hop and new group, not used yet", slowList{slash8: 1},
			func(w *Writer, a, b uint16) {
				w.table.nextHops[500][0], _ = gateway(500).pack()
				w.table.groups[600][groupUsedWord] = 1
				w.table.storeGroup(600, []uint16{500})
			},
			slowList{slash8: 1}},
		{"set group: words written, count not", slowList{def: 1},
			func(w *Writer, a, b uint16) { w.table.groups[a][1] = 1 },
			slowList{def: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, writer := newSegments(t)
			w, _ := attach(t, table, writer, Options{})
			ids := map[uint16]uint16{1: newGroup(t, w, gateway(1)), 2: newGroup(t, w, gateway(2))}
			real := func(l slowList) slowList {
				out := slowList{}
				for p, g := range l {
					out[p] = ids[g]
				}
				return out
			}
			for p, g := range real(tc.setup) {
				if err := w.Set(p, g); err != nil {
					t.Fatal(err)
				}
			}
			tc.kill(w, ids[1], ids[2])

			reader := &fakeEpochs{epoch: 1}
			w, rt := attach(t, table, writer, Options{Epochs: reader})
			want := real(tc.want)
			checkAll(t, w, want)
			check(t, w, rt, want, def, slash8, slash25)
			if g := want[def]; g != 0 {
				if diff := gocmp.Diff(members(rt, g), members(rt, 0)); diff != "" {
					t.Errorf("group 0 (-want +got):\n%s", diff)
				}
			} else if got := members(rt, 0); len(got) != 0 {
				t.Errorf("group 0 has %v without a default route", got)
			}
			reader.step()
			w.collect()
			reader.step()
			w.collect()
			noLeaks(t, w, want)
		})
	}
}

// The next writer can go on where the last one stopped, and gives everything
// back.
func TestNextWriterTakesOver(t *testing.T) {
	table, writer := newSegments(t)
	w, _ := attach(t, table, writer, Options{})
	old := newGroup(t, w, gateway(1), gateway(2))
	for _, p := range []string{"0.0.0.0/0", "10.0.0.0/8", "10.1.1.1/32"} {
		if err := w.Set(prefix(p), old); err != nil {
			t.Fatal(err)
		}
	}
	w, reader := attach(t, table, writer, Options{})
	i := acquire(t, w, gateway(2))
	if got := members(reader, old); got[1] != i {
		t.Errorf("%v is next hop %d and %d", gateway(2), got[1], i)
	}
	g, err := w.NewGroup([]uint16{i})
	if err != nil {
		t.Fatal(err)
	}
	w.ReleaseNextHop(i)
	for p, was := range w.All() {
		if was != old {
			t.Errorf("%v points to group %d, want %d", p, was, old)
		}
		if err := w.Set(p, g); err != nil {
			t.Fatal(err)
		}
	}
	w.FreeGroup(g)
	model := slowList{prefix("0.0.0.0/0"): g, prefix("10.0.0.0/8"): g, prefix("10.1.1.1/32"): g}
	checkAll(t, w, model)
	noLeaks(t, w, model)
	for p := range w.All() {
		if _, err := w.Delete(p); err != nil {
			t.Fatal(err)
		}
	}
	noLeaks(t, w, slowList{})
}

func TestAuditMends(t *testing.T) {
	w, table := newFIB(t, Options{})
	g := newGroup(t, w, gateway(1))
	p24, p32, def := prefix("10.0.0.0/24"), prefix("10.0.1.1/32"), prefix("0.0.0.0/0")
	model := slowList{p24: g, p32: g, def: g}
	for p := range model {
		if err := w.Set(p, g); err != nil {
			t.Fatal(err)
		}
	}
	storeEntry(&table.entries[10<<16], 77)
	storeEntry(&table.entries[10<<16+1], 0)
	storeEntry(&table.entries[255<<16], extendedBit|99)
	storeEntry(&w.extendedEntries(w.extended.get(10<<16 + 1))[1], 0)
	table.storeGroup(0, nil)
	checked, repaired, err := w.Audit(10<<16 + 2)
	if got, want := []any{checked, repaired, err}, []any{10<<16 + 2, 4, nil}; !gocmp.Equal(want, got, cmpopts.EquateErrors()) {
		t.Errorf("first part: %v, want %v", got, want)
	}
	if _, repaired, _ := w.Audit(slots - 10<<16 - 2); repaired != 1 {
		t.Errorf("second part: %d mended, want 1", repaired)
	}
	check(t, w, table, model, p24, p32, def)
	checkAll(t, w, model)

	w.exact[exactIndex(10<<16, 24)] = g + 1
	if _, _, err := w.Audit(slots); err == nil || !strings.Contains(err.Error(), "10.0.0.0/24") {
		t.Errorf("Audit of damaged truth: %v", err)
	}
}
