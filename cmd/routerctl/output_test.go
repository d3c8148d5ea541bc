package main

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 41 * time.Second: "41s", 12 * time.Minute: "12m",
		192 * time.Minute: "3h12m", 76 * time.Hour: "3d04h", 60 * time.Minute: "1h00m",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1021352: "1,021,352", 1<<64 - 1: "18,446,744,073,709,551,615"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestGigabits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 4.84e9: "4.8", 1e8: "0.1", 3.1e6: "0.0031", 1e3: "0", 99.9e9: "99.9"} {
		if got := gigabits(v); got != want {
			t.Errorf("gigabits(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		"plain": "plain", "Zürich": "Zürich", "a\x1b[2Jb": "a?[2Jb", "c1 \u009b": "c1 ?", "a\nforged line": "a?forged line",
	} {
		if got := clean(s); got != want {
			t.Errorf("clean(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestCleanLines(t *testing.T) {
	if got := cleanLines("two\nlines\x1b"); got != "two\nlines?" {
		t.Errorf("got %q", got)
	}
}

// TestWidths holds that columns fit their widest cell, counted in characters.
func TestWidths(t *testing.T) {
	var b strings.Builder
	p := newPage(&b)
	tab := newTable("name", "x")
	tab.add("Zürich", "1")
	tab.add("a", "")
	tab.write(p, "  ")
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "  name    x\n  Zürich  1\n  a\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// full is a disk that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullDisk holds that a table that could not be written is a failure.
func TestFullDisk(t *testing.T) {
	c := &ctl{out: full{}, format: "json"}
	rows := iter.Seq2[[]byte, error](func(yield func([]byte, error) bool) {
		for yield([]byte(`{"prefix":"0.0.0.0/0"}`), nil) {
		}
	})
	if err := c.printRows("fib", rows); err == nil {
		t.Error("printRows: no error")
	}
	c.format = "text"
	if err := c.print(nil, func(p *page) { p.linef("x") }); err == nil {
		t.Error("print: no error")
	}
}
