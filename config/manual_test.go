package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const manualFile = "../etc/man/routerd.conf.5"

// manual is routerd.conf(5): the arguments that the section of a block documents, and
// the examples.
type manual struct {
	arguments map[string][]string
	examples  []string
}

func readManual(t *testing.T) manual {
	t.Helper()
	src, err := os.ReadFile(manualFile)
	if err != nil {
		t.Fatal(err)
	}
	m := manual{arguments: make(map[string][]string)}
	section, example := "", false
	for line := range strings.Lines(string(src)) {
		switch {
		case strings.HasPrefix(line, ".Bd -literal"):
			example = true
			m.examples = append(m.examples, "")
		case strings.HasPrefix(line, ".Ed"):
			example = false
		case example:
			m.examples[len(m.examples)-1] += strings.ReplaceAll(line, `\e`, `\`)
		case strings.HasPrefix(line, ".Sh"):
			section = ""
		case strings.HasPrefix(line, ".Ss "):
			section = strings.TrimSpace(strings.TrimPrefix(line, ".Ss "))
			m.arguments[section] = nil
		case strings.HasPrefix(line, ".It Ic "):
			m.arguments[section] = append(m.arguments[section], strings.Fields(line)[2])
		}
	}
	return m
}

func TestManualCoversTheLanguage(t *testing.T) {
	m := readManual(t)
	known := make(map[string]bool)
	var check func(b *block)
	check = func(b *block) {
		title := strings.TrimSpace(fmt.Sprintf("%s %s", b.name, b.label))
		if known[title] {
			return
		}
		known[title] = true
		documented, ok := m.arguments[title]
		if !ok {
			t.Errorf("%s has no section %q", manualFile, title)
		}
		wanted := b.args
		if b.name == "group" {
			wanted = nil // it refers to neighbor
		}
		for _, arg := range wanted {
			if !slices.Contains(documented, arg) {
				t.Errorf("%s: section %q says nothing of %q", manualFile, title, arg)
			}
		}
		for _, arg := range documented {
			if !slices.Contains(wanted, arg) {
				t.Errorf("%s: section %q documents %q, which the language has not", manualFile, title, arg)
			}
		}
		for _, c := range b.blocks {
			check(c)
		}
	}
	for _, b := range language.blocks {
		check(b)
	}
	for title := range m.arguments {
		if !known[title] {
			t.Errorf("%s: section %q is of no block of the language", manualFile, title)
		}
	}
}

func TestManualExamplesParse(t *testing.T) {
	m := readManual(t)
	if len(m.examples) < len(language.blocks) {
		t.Errorf("%s has %d examples, want one for each of %d blocks", manualFile, len(m.examples), len(language.blocks))
	}
	for i, text := range m.examples {
		if _, err := Parse(fmt.Sprintf("example %d", i+1), []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
