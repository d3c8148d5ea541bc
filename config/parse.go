package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// MaxSize is the largest configuration file in bytes.
const MaxSize = 4 << 20

// ErrTooLarge is the cause when a file has more than MaxSize bytes.
var ErrTooLarge = errors.New("larger than 4 MiB")

// Load reads and parses the file at path. The source is returned whenever it could
// be read, also beside an error of type Errors. Errors name the file without its
// folder.
func Load(path string) (*Config, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	if len(src) > MaxSize {
		return nil, nil, fmt.Errorf("configuration: %s: %w", path, ErrTooLarge)
	}
	c, err := Parse(filepath.Base(path), src)
	return c, src, err
}

// Parse turns the text of a configuration file into a Config. An error is of type
// Errors and holds every defect of the text, except that it wraps ErrTooLarge where
// src has more than MaxSize bytes. filename stands in the errors only.
func Parse(filename string, src []byte) (*Config, error) {
	if len(src) > MaxSize {
		return nil, fmt.Errorf("configuration: %s: %w", filename, ErrTooLarge)
	}
	found := newDefects(filename, src)
	if !shallow(found, filename, src) {
		return nil, found.sorted()
	}
	body, broken := parseSyntax(found, filename, src)
	root := &section{kind: language, body: body, found: found, broken: broken}
	root.read()
	d := &decoder{found: found, whole: !broken, config: &Config{}}
	d.decode(root)
	if len(found.found) > 0 {
		return nil, found.sorted()
	}
	return d.config, nil
}

// parseSyntax gives the syntax tree, and whether parts of it are missing because
// the text breaks the syntax.
func parseSyntax(found *defects, filename string, src []byte) (body *hclsyntax.Body, broken bool) {
	file, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	var before string
	line := 0
	for _, diag := range diags {
		at := hcl.Range{Start: hcl.InitialPos, End: hcl.InitialPos}
		if diag.Subject != nil {
			at = *diag.Subject
		}
		// HCL repeats an unclosed text for every line up to the next quote, and a
		// character that does not belong for every further one in its line.
		again := diag.Summary == before && (before == unclosedText || at.Start.Line == line)
		if diag.Severity != hcl.DiagError || again {
			continue
		}
		before, line = diag.Summary, at.Start.Line
		found.add(at, "%s", sentence(diag))
		if diag.Summary != redefined {
			broken = true
		}
	}
	return file.Body.(*hclsyntax.Body), broken
}

// redefined is HCL's summary for an argument that stands twice; the tree is whole
// all the same.
const redefined = "Attribute redefined"

// unclosedText is HCL's summary for a text without its second quote.
const unclosedText = "Invalid multi-line string"

// sentence turns a diagnostic of HCL into one message of ours.
func sentence(diag *hcl.Diagnostic) string {
	if diag.Summary == redefined {
		detail, _, _ := strings.Cut(diag.Detail, ". Each argument")
		return lowerFirst(strings.TrimPrefix(detail, "The "))
	}
	detail, _, _ := strings.Cut(strings.Join(strings.Fields(diag.Detail), " "), ". ")
	return printable(lowerFirst(diag.Summary) + ": " + lowerFirst(strings.TrimSuffix(detail, ".")))
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

const (
	maxNesting   = 16  // brackets inside each other; the language needs 5
	maxOperators = 100 // the language needs none
)

// shallow reports whether src is safe to parse: HCL's parser descends once for every
// open bracket and for some operators, and a hostile file could exhaust the stack.
func shallow(found *defects, filename string, src []byte) bool {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	nesting, operators := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			nesting++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			nesting--
		}
		switch t.Type {
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion, hclsyntax.TokenTemplateControl:
			operators++
		}
		if nesting > maxNesting {
			found.add(t.Range, "brackets are nested more than %d deep", maxNesting)
			return false
		}
		if operators > maxOperators {
			found.add(t.Range, "more than %d operators: the language has literals and lists only", maxOperators)
			return false
		}
	}
	return true
}
