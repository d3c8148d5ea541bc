package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestFormatParsesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := configs().Draw(t, "config")
		text := Format(want)
		got, err := Parse("formatted", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(want, got, equal, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("(-want +got):\n%s\n%s", d, text)
		}
		if again := string(Format(got)); again != string(text) {
			t.Fatalf("not canonical:\n%s", cmp.Diff(string(text), again))
		}
	})
}
