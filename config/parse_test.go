package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.conf")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "../etc/routerd.conf") {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := Parse("fuzz.conf", src)
		if err != nil {
			if c != nil || err.Error() == "" {
				t.Fatalf("a Config beside the error %q", err)
			}
			return
		}
		if c == nil {
			t.Fatal("neither Config nor error")
		}
		again, err := Parse("formatted.conf", Format(c))
		if err != nil {
			t.Fatalf("%v\n%s", err, Format(c))
		}
		if d := cmp.Diff(c, again, equal); d != "" {
			t.Fatalf("(-want +got):\n%s\n%s", d, Format(c))
		}
		if plan := Diff(c, again); len(plan) > 0 {
			t.Fatalf("plan between equal configurations:\n%s", plan)
		}
		c.Warnings()
	})
}

func TestErrorPositions(t *testing.T) {
	src := "port \"xe1\" {\n  device = \"xdp:eth1\"\n  adress = [\"198.51.100.6/30\"]\n}\n"
	_, err := Parse("routerd.conf", []byte(src))
	want := Errors{{
		File: "routerd.conf", Line: 3, Column: 3, EndColumn: 9,
		Message: `unknown argument "adress" in port "xe1"; did you mean "addresses"?`,
		Excerpt: `  adress = ["198.51.100.6/30"]`,
	}}
	var got Errors
	if !errors.As(err, &got) {
		t.Fatalf("error is %T, want Errors", err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	text := "routerd.conf:3,3-9: unknown argument \"adress\" in port \"xe1\"; did you mean \"addresses\"?\n" +
		"  3:   adress = [\"198.51.100.6/30\"]\n" +
		"1 error; the running configuration is unchanged"
	if d := cmp.Diff(text, got.Report("; the running configuration is unchanged")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Load(filepath.Join(dir, "missing.conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := Load(dir); err == nil {
		t.Error("a folder loads")
	}
	bad := filepath.Join(dir, "bad.conf")
	if err := os.WriteFile(bad, []byte("x = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, src, err := Load(bad)
	if err == nil || !strings.HasPrefix(err.Error(), "bad.conf:1,1-2: ") || string(src) != "x = 1\n" {
		t.Errorf("source %q, error %v", src, err)
	}
	large := filepath.Join(dir, "large.conf")
	if err := os.WriteFile(large, make([]byte, MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(large); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large file: %v", err)
	}
	if _, err := Parse("large.conf", make([]byte, MaxSize+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large text: %v", err)
	}
}

// TestHostile feeds texts that make a careless parser recurse or work without end;
// a hundred thousand errors in one line must not each look at the whole line.
func TestHostile(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	for _, unit := range []string{"[", "{", "(", "a {\n", "a = [", "!", "-", "x ? ", "\"${", "%{ if x }", "{ a = ", "f(", "<<A\n${"} {
		src := "router { name = " + strings.Repeat(unit, n)
		if _, err := Parse("hostile.conf", []byte(src)); err == nil {
			t.Errorf("%q parses", unit)
		}
		if _, err := Parse("hostile.conf", []byte("a = \""+strings.Repeat(unit, n))); err == nil {
			t.Errorf("%q in a text parses", unit)
		}
	}
	_, err := Parse("hostile.conf", []byte("prefix_list \"a\" { prefixes = ["+strings.Repeat("1,", 5*n)+"] }"))
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 5*n {
		t.Errorf("%d errors, want one for each item", len(errs))
	}
}

func TestExcerptIsSafe(t *testing.T) {
	_, err := Parse("a\nb", []byte("x = \"\x1b[31m\u202e\x00"+strings.Repeat("é", 500)+"\"\n"))
	for _, r := range []string{"\x1b", "\u202e", "\x00"} {
		if strings.Contains(err.Error(), r) {
			t.Errorf("%q reaches the terminal: %q", r, err)
		}
	}
	for line := range bytes.Lines([]byte(err.Error())) {
		if len(line) > 2*excerptLimit+20 {
			t.Errorf("long line: %q", line)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"description", "device", "queues", "mtu", "addresses"}
	for given, want := range map[string]string{
		"adress": "addresses", "desc": "description", "Device": "device", "queue": "queues",
		"mut": "", "mt": "mtu", "urpf": "", "": "", "x": "", "host": "",
	} {
		if got := nearest(given, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestForeignCharactersAreOneErrorALine(t *testing.T) {
	_, err := Parse("x.conf", []byte("┌──┐ port\n└──┘\n"))
	errs, ok := errors.AsType[Errors](err)
	if !ok {
		t.Fatal(err)
	}
	lines := map[int]int{}
	for _, e := range errs {
		if strings.Contains(e.Message, "invalid character") {
			lines[e.Line]++
		}
	}
	if lines[1] != 1 || lines[2] != 1 {
		t.Errorf("errors a line %v:\n%v", lines, err)
	}
}
