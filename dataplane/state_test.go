package dataplane

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestStateOfAnotherProcessReads(t *testing.T) {
	memory := make([]byte, StateSize())
	id := Identity{PID: 4711, Workers: 3, Start: time.Unix(1_800_000_000, 5), Boot: [16]byte{0xca, 0xfe, 1, 2}}
	writer, err := FormatState(memory, id)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := OpenState(memory)
	if err != nil {
		t.Fatal(err)
	}
	if got := reader.Identity(); got != id {
		t.Errorf("%+v", got)
	}
	if got, want := id.String(), "pid 4711, 3 workers, instance cafe0102"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	writer.rows[2][7].add(cRxPackets, 5)
	writer.rows[slowRow][7].add(cDropped+counter(DropTTL), 2)
	c := reader.Port(7)
	if c.RxPackets != 5 || c.Drops(DropTTL) != 2 || c.AllDrops() != 2 {
		t.Errorf("%+v", c)
	}
}

func TestForeignStateIsRefusedInOneLine(t *testing.T) {
	good := func() []byte {
		m := make([]byte, StateSize())
		if _, err := FormatState(m, Identity{Workers: 1}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		name   string
		memory func() []byte
		want   string
	}{
		{"empty", func() []byte { return nil }, "truncated"},
		{"a byte short", func() []byte { return good()[:StateSize()-1] }, "truncated"},
		{"zero", func() []byte { return make([]byte, StateSize()) }, "magic"},
		{"other version", func() []byte { m := good(); m[8] = 99; return m }, "version 99"},
		{"no workers", func() []byte { m := good(); m[32] = 0; return m }, "0 workers"},
		{"too many workers", func() []byte { m := good(); m[33] = 9; return m }, "2305 workers"},
	} {
		_, err := OpenState(c.memory())
		if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzOpenState(f *testing.F) {
	m := make([]byte, StateSize())
	if _, err := FormatState(m, Identity{Workers: 64}); err != nil {
		f.Fatal(err)
	}
	whole := make([]byte, StateSize())
	f.Add(m[:64], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, head []byte, complete bool) {
		memory := head
		if complete {
			clear(whole[:4096])
			copy(whole, head)
			memory = whole
		}
		s, err := OpenState(memory)
		if err != nil {
			return
		}
		total := s.Total()
		_, _, _, _ = s.Identity().String(), s.Adjacency(65535), total.AllDrops(), s.Epochs().Snapshot(nil)
		for w := range s.Identity().Workers {
			s.Rounds(w)
			s.Worker(w)
		}
	})
}

func TestReaderIsPassedWhenItWasOutside(t *testing.T) {
	s, err := FormatState(make([]byte, StateSize()), Identity{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	e := s.Epochs()
	s.enter(1)
	before := e.Snapshot(nil)
	if e.Passed(before) {
		t.Error("passed while worker 1 is in a round")
	}
	s.enter(0) // began after the snapshot: saw what was stored before it
	s.leave(1)
	s.enter(1)
	if !e.Passed(before) {
		t.Error("not passed although worker 1 has been outside")
	}
	s.enter(slowRow)
	before = e.Snapshot(before)
	s.leave(0)
	s.leave(1)
	if e.Passed(before) {
		t.Error("passed while the slow path is in a round")
	}
}

func TestReasonsAndCausesTellThemselves(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := make(map[string]bool)
	check := func(kind, name, meaning string) {
		if !kebab.MatchString(name) || seen[kind+name] {
			t.Errorf("%s %q: not a name of its own in kebab case", kind, name)
		}
		seen[kind+name] = true
		if len(meaning) < 8 || strings.HasSuffix(meaning, ".") || strings.ContainsAny(meaning, "\n\t") {
			t.Errorf("%s %s: meaning %q is not one sentence without a full stop", kind, name, meaning)
		}
	}
	for r := range DropReasons {
		check("drop reason", DropReason(r).String(), DropReason(r).Meaning())
	}
	for c := range PuntCauses {
		check("punt cause", PuntCause(c).String(), PuntCause(c).Meaning())
	}
	if got := DropReason(200).String() + PuntCause(200).String() + AdjacencyKind(77).String(); got != "unknownunknownadjacency kind 77" {
		t.Error(got)
	}
	if cPunted+PuntCauses > cDropped || cDropped+DropReasons > rowCounters {
		t.Error("a row has no room for all counters")
	}
}
