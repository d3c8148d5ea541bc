package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// section is one block of the file, holding only blocks that the language knows.
type section struct {
	kind     *block
	label    string
	header   hcl.Range // the block's type
	name     hcl.Range // its label, or its type where it has none
	body     *hclsyntax.Body
	parent   *section
	children []*section

	inherits *section // arguments not given here are looked up there; nil: none
	found    *defects
	broken   bool // the syntax is broken, so that something may seem missing
}

// read builds the tree below s and reports what the language does not know.
func (s *section) read() {
	for _, name := range slices.Sorted(maps.Keys(s.body.Attributes)) {
		s.checkArgument(s.body.Attributes[name])
	}
	first := make(map[string]*section)
	for _, b := range s.body.Blocks {
		child := s.open(b)
		if child == nil {
			continue
		}
		child.read()
		key := child.kind.name + " " + child.label
		if other := first[key]; other != nil {
			s.found.add(child.name, "%s stands twice, first in line %d", child.title(), other.name.Start.Line)
			continue
		}
		first[key] = child
		s.children = append(s.children, child)
	}
}

func (s *section) checkArgument(a *hclsyntax.Attribute) {
	if slices.Contains(s.kind.args, a.Name) {
		return
	}
	if c := s.kind.child(a.Name); c != nil {
		s.found.add(a.NameRange, "%q is a block%s: write %s without the equals sign", a.Name, s.inside(), c.usage())
		return
	}
	s.found.add(a.NameRange, "unknown argument %q%s%s", a.Name, s.inside(), meant(a.Name, s.kind.args))
}

// open makes the section of a block, nil where the block can not be understood.
func (s *section) open(b *hclsyntax.Block) *section {
	kind := s.kind.child(b.Type)
	if kind == nil {
		if slices.Contains(s.kind.args, b.Type) {
			s.found.add(b.TypeRange, "%q is an argument%s: write %s = value", b.Type, s.inside(), b.Type)
			return nil
		}
		s.found.add(b.TypeRange, "unknown block %q%s%s", b.Type, s.inside(), meant(b.Type, s.kind.blockNames()))
		return nil
	}
	child := &section{
		kind: kind, header: b.TypeRange, name: b.TypeRange,
		body: b.Body, parent: s, found: s.found, broken: s.broken,
	}
	wanted := 0
	if kind.label != "" {
		wanted = 1
	}
	switch {
	case len(b.Labels) < wanted:
		s.found.add(b.TypeRange, "%s needs a %s: write %s", kind.name, labelWord(kind), kind.usage())
		return nil
	case len(b.Labels) > wanted:
		s.found.add(b.LabelRanges[wanted], "too many names: write %s", kind.usage())
		return nil
	case wanted == 1:
		child.label, child.name = b.Labels[0], b.LabelRanges[0]
	}
	return child
}

// usage shows how a block of this kind is written.
func (b *block) usage() string {
	if b.label == "" {
		return b.name + " { … }"
	}
	return fmt.Sprintf("%s %q { … }", b.name, b.label)
}

func labelWord(b *block) string {
	switch b.label {
	case "ADDRESS":
		return "address"
	case "PREFIX":
		return "prefix"
	case "PATH":
		return "path"
	}
	return "name"
}

// title names the section in messages: `port "xe0"`.
func (s *section) title() string {
	t := s.kind.name
	if s.kind.label != "" {
		t = fmt.Sprintf("%s %q", t, printable(s.label))
	}
	if s.kind.inner {
		t += s.parent.inside()
	}
	return t
}

// inside is ` in port "xe0"`, and empty for the file itself.
func (s *section) inside() string {
	if s.parent == nil {
		return ""
	}
	return " in " + s.title()
}

// all lists the blocks of one kind, in the order of the file.
func (s *section) all(kind string) []*section {
	var list []*section
	for _, c := range s.children {
		if c.kind.name == kind {
			list = append(list, c)
		}
	}
	return list
}

// one gives the only block of a kind, nil where there is none.
func (s *section) one(kind string) *section {
	for _, c := range s.children {
		if c.kind.name == kind {
			return c
		}
	}
	return nil
}
