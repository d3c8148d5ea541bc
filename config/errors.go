package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// Error is one defect of a configuration file.
type Error struct {
	File      string
	Line      int // from 1
	Column    int // from 1, in characters
	EndColumn int // the first column behind the defect; Column or less: a point
	Message   string
	Excerpt   string // the line of the file, made safe for a terminal
}

// Error renders the position, the message and, on a line of its own, the excerpt.
func (e Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d,%d", e.File, e.Line, e.Column)
	if e.EndColumn > e.Column {
		fmt.Fprintf(&b, "-%d", e.EndColumn)
	}
	fmt.Fprintf(&b, ": %s", e.Message)
	if e.Excerpt != "" {
		fmt.Fprintf(&b, "\n  %d: %s", e.Line, e.Excerpt)
	}
	return b.String()
}

// Errors is every defect of one configuration file, in the order of the file.
type Errors []Error

// Error renders all errors and their count.
func (e Errors) Error() string { return e.Report("") }

// Report renders all errors and a last line with their count and then tail, for
// example "; the running configuration is unchanged".
func (e Errors) Report(tail string) string {
	var b strings.Builder
	for _, err := range e {
		b.WriteString(err.Error())
		b.WriteByte('\n')
	}
	b.WriteString(e.Count())
	b.WriteString(tail)
	return b.String()
}

// Count is "1 error", "2 errors" and so on.
func (e Errors) Count() string {
	if len(e) == 1 {
		return "1 error"
	}
	return fmt.Sprintf("%d errors", len(e))
}

// defects collects the errors of one file.
type defects struct {
	file   string
	lines  []string
	found  Errors
	places map[place]bool
}

type place struct{ line, column int }

func newDefects(file string, src []byte) *defects {
	return &defects{file: file, lines: strings.Split(string(src), "\n"), places: make(map[place]bool)}
}

// add records an error. Only the first one for a place counts: what follows from it
// would only distract.
func (d *defects) add(at hcl.Range, format string, args ...any) {
	where := place{at.Start.Line, at.Start.Column}
	if d.places[where] {
		return
	}
	d.places[where] = true
	e := Error{
		File:    d.file,
		Line:    at.Start.Line,
		Column:  at.Start.Column,
		Message: fmt.Sprintf(format, args...),
	}
	if at.End.Line == at.Start.Line {
		e.EndColumn = at.End.Column
	}
	e.Excerpt = d.excerpt(e.Line)
	d.found = append(d.found, e)
}

// excerpt is a line of the file; a line is often asked for several times in a row.
func (d *defects) excerpt(line int) string {
	if n := len(d.found); n > 0 && d.found[n-1].Line == line {
		return d.found[n-1].Excerpt
	}
	if line < 1 || line > len(d.lines) {
		return ""
	}
	return excerpt(d.lines[line-1])
}

// sorted gives the errors in the order of the file.
func (d *defects) sorted() Errors {
	slices.SortStableFunc(d.found, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return d.found
}

// excerptLimit is the longest excerpt in characters.
const excerptLimit = 160

func excerpt(line string) string {
	cut := len(line) > excerptLimit*utf8.UTFMax
	if cut {
		line = line[:excerptLimit*utf8.UTFMax]
	}
	runes := []rune(printable(strings.TrimRight(line, " \t\r")))
	if len(runes) > excerptLimit {
		runes, cut = runes[:excerptLimit], true
	}
	if cut {
		return string(runes) + "…"
	}
	return string(runes)
}

// printable replaces what could steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '·'
	}, strings.ToValidUTF8(s, "·"))
}
