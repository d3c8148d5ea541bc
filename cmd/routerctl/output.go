package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// print writes v in the chosen format; text renders it for people.
func (c *ctl) print(v any, text func(p *page)) error {
	if c.format == "json" {
		enc := json.NewEncoder(c.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	p := newPage(c.out)
	text(p)
	return p.Flush()
}

// printRows writes one JSON object that holds rows as the array called name, row by
// row. An error leaves the object open, so that half a table is no valid JSON.
func (c *ctl) printRows(name string, rows iter.Seq2[[]byte, error]) error {
	out := bufio.NewWriterSize(c.out, 64<<10)
	n := 0
	for row, err := range rows {
		if err != nil {
			out.Flush()
			return err
		}
		if n++; n == 1 {
			fmt.Fprintf(out, "{%q: [\n", name)
		} else {
			out.WriteString(",\n")
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	if n == 0 {
		fmt.Fprintf(out, "{%q: [", name)
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// page is a text for people. Its errors show in Flush.
type page struct{ *bufio.Writer }

func newPage(w io.Writer) *page { return &page{bufio.NewWriterSize(w, 64<<10)} }

// linef writes one line. Nothing in args can steer a terminal or add a line.
func (p *page) linef(format string, args ...any) {
	p.WriteString(strings.TrimRight(clean(fmt.Sprintf(format, args...)), " "))
	p.WriteByte('\n')
}

// row writes cells, padded to widths, as one line. A longer cell moves its line.
func (p *page) row(widths []int, cells ...string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	for i, cell := range cells {
		cell = clean(cell)
		p.WriteString(cell)
		if i == len(cells)-1 {
			break
		}
		for n := utf8.RuneCountInString(cell); n < widths[i]; n++ {
			p.WriteByte(' ')
		}
		p.WriteString("  ")
	}
	p.WriteByte('\n')
}

// table collects rows and writes them with columns as wide as they have to be.
type table struct{ rows [][]string }

func newTable(headings ...string) *table { return &table{[][]string{headings}} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(p *page, indent string) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		p.WriteString(indent)
		p.row(widths, row...)
	}
}

// clean replaces what could steer a terminal or add a line: texts of BGP neighbours
// end up here.
func clean(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return strings.Map(printable, s)
		}
	}
	return s
}

// cleanLines is clean for a text of several lines.
func cleanLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return printable(r)
	}, s)
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// dash stands in for what does not apply.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// number writes n with thousands separators.
func number[T ~int | ~uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	if uint64(n) > 1<<63-1 && n > 0 {
		s = strconv.FormatUint(uint64(n), 10)
	}
	var b strings.Builder
	for i, digit := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// gigabits writes a speed in Gb/s, with more digits the smaller it is.
func gigabits(bps float64) string {
	g := bps / 1e9
	switch {
	case g >= 0.1:
		return strconv.FormatFloat(g, 'f', 1, 64)
	case g >= 0.00005:
		return strings.TrimRight(strconv.FormatFloat(g, 'f', 4, 64), "0")
	}
	return "0"
}

// span writes a duration with two units: 3d04h, 3h12m, 12m, 41s.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// age writes how long ago t was, or - for the zero time.
func (c *ctl) age(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(c.now().Sub(t))
}

// ago writes age with the word behind it, or now.
func (c *ctl) ago(t time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case c.now().Sub(t) < time.Second:
		return "now"
	}
	return c.age(t) + " ago"
}
