package config

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// argument gives the argument called name, of the section or of the one that it
// inherits from; nil where it is not given.
func (s *section) argument(name string) *hclsyntax.Attribute {
	if a := s.body.Attributes[name]; a != nil {
		return a
	}
	if s.inherits != nil {
		return s.inherits.argument(name)
	}
	return nil
}

func (s *section) has(name string) bool { return s.argument(name) != nil }

// at is the place of an argument's value, or of the section's name where the
// argument is not given.
func (s *section) at(name string) hcl.Range {
	if a := s.argument(name); a != nil {
		return a.Expr.Range()
	}
	return s.name
}

// require reports a missing argument and whether it is there. example shows how to
// write it.
func (s *section) require(name, example string) bool {
	if s.has(name) {
		return true
	}
	if !s.broken {
		s.found.add(s.header, "%s has no %q: add %s = %s", s.title(), name, name, example)
	}
	return false
}

// text is a string argument, fallback where it is not given or wrong.
func (s *section) text(name, fallback string) string {
	a := s.argument(name)
	if a == nil {
		return fallback
	}
	if v, ok := s.literal(name, a.Expr); ok {
		if text, ok := s.textOf(name, v, a.Expr); ok {
			return text
		}
	}
	return fallback
}

func (s *section) textOf(name string, v cty.Value, expr hclsyntax.Expression) (string, bool) {
	if v.Type() != cty.String {
		s.found.add(expr.Range(), "%s takes text in quotes", name)
		return "", false
	}
	return v.AsString(), true
}

// word is a string argument that must be one of words.
func (s *section) word(name, fallback string, words ...string) string {
	w := s.text(name, fallback)
	if !slices.Contains(words, w) {
		s.found.add(s.at(name), "%s %q is unknown: it can be %s%s",
			name, printable(w), strings.Join(words, " or "), didYouMean(w, words))
		return fallback
	}
	return w
}

// number is a whole-number argument from low to high.
func (s *section) number(name string, fallback, low, high int64) int64 {
	a := s.argument(name)
	if a == nil {
		return fallback
	}
	v, ok := s.literal(name, a.Expr)
	if !ok {
		return fallback
	}
	if v.Type() != cty.Number {
		s.found.add(a.Expr.Range(), "%s takes a number without quotes, %d to %d", name, low, high)
		return fallback
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact || n < low || n > high {
		s.found.add(a.Expr.Range(), "%s must be a whole number, %d to %d", name, low, high)
		return fallback
	}
	return n
}

// flag is an argument that is true or false, false where it is not given.
func (s *section) flag(name string) bool {
	a := s.argument(name)
	if a == nil {
		return false
	}
	v, ok := s.literal(name, a.Expr)
	if !ok {
		return false
	}
	if v.Type() != cty.Bool {
		s.found.add(a.Expr.Range(), "%s takes true or false, without quotes", name)
		return false
	}
	return v.True()
}

// seconds is an argument such as "90s" or "2m": 0, or whole seconds from low to high.
func (s *section) seconds(name string, fallback, low, high time.Duration) time.Duration {
	if !s.has(name) {
		return fallback
	}
	text := s.text(name, fallback.String())
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		s.found.add(s.at(name), "%s %q is no time; write for example %q", name, printable(text), secondsText(fallback))
	case d != 0 && (d < low || d > high) || d%time.Second != 0:
		s.found.add(s.at(name), "%s must be 0s or whole seconds, %.0fs to %.0fs", name, low.Seconds(), high.Seconds())
	default:
		return d
	}
	return fallback
}

// item is one text of a list argument.
type item struct {
	text string
	at   hcl.Range
}

// list is an argument that holds one or more texts; nil where it is not given.
func (s *section) list(name string) []item {
	a := s.argument(name)
	if a == nil {
		return nil
	}
	tuple, ok := a.Expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		if v, ok := s.literal(name, a.Expr); ok {
			if v.Type() == cty.String {
				s.found.add(a.Expr.Range(), "%s takes a list: write [%q]", name, printable(v.AsString()))
			} else {
				s.found.add(a.Expr.Range(), "%s takes a list of texts in quotes", name)
			}
		}
		return nil
	}
	if len(tuple.Exprs) == 0 {
		s.found.add(a.Expr.Range(), "%s is an empty list; leave it out or name at least one", name)
	}
	var items []item
	for _, expr := range tuple.Exprs {
		if v, ok := s.literal(name, expr); ok {
			if text, ok := s.textOf("each item of "+name, v, expr); ok {
				items = append(items, item{text, expr.Range()})
			}
		}
	}
	return items
}
