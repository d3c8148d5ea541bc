package config

import (
	"fmt"
	"net/netip"
	"strings"
)

// Kind says what part of the configuration a Change is about.
type Kind string

const (
	KindRouter     Kind = "router"      // name, AS number, id; Name is empty
	KindDataplane  Kind = "dataplane"   // Name is empty
	KindPort       Kind = "port"        // Name is the port's
	KindRoute      Kind = "route"       // Name is the prefix
	KindPrefixList Kind = "prefix_list" // for display: what it does is in the changes of policies
	KindPolicy     Kind = "policy"      // Name is the policy's; its content, prefix lists resolved
	KindBGP        Kind = "bgp"         // what all sessions share; Name is empty
	KindNeighbor   Kind = "neighbor"    // Name is the address
	KindSocket     Kind = "socket"      // Name is the path
)

// Op says what happens to the part.
type Op string

const (
	Add    Op = "add"
	Remove Op = "remove"
	Modify Op = "modify"
)

// What a Change interrupts, in words for the operator and to be compared.
const (
	InterruptsNothing    = ""
	InterruptsSession    = "session resets"
	InterruptsSessions   = "all BGP sessions reset"
	InterruptsLink       = "link bounces about 1 s"
	InterruptsPort       = "port closes and opens again"
	InterruptsForwarding = "takes effect when routerd is stopped and started"
)

// Field is one argument whose value changes. The values are written for display. Old
// is empty where Name is no argument but a term of a policy: New then says what
// happens to it.
type Field struct{ Name, Old, New string }

func (f Field) String() string {
	if f.Old == "" {
		return f.Name + " " + f.New
	}
	return f.Name + " " + f.Old + " -> " + f.New
}

// Change is one difference between two configurations, to be applied by itself.
type Change struct {
	Kind       Kind
	Op         Op
	Name       string
	Fields     []Field      // of Modify: what differs; names are those of the file
	Interrupts string       // one of the Interrupts constants
	Neighbors  []netip.Addr // of KindPolicy: the new configuration's neighbors whose routes must be judged again
}

// Plan is what leads from one configuration to another, in the order to show: part by
// part as in the file, and within a part what goes before what comes.
type Plan []Change

// Has reports whether a field of that name differs.
func (c Change) Has(field string) bool {
	for _, f := range c.Fields {
		if f.Name == field {
			return true
		}
	}
	return false
}

// String is one line such as
// `neighbor 203.0.113.80 max_prefixes 500 -> 800 (no session reset)`.
func (c Change) String() string {
	var b strings.Builder
	if c.Op != Modify {
		fmt.Fprintf(&b, "%s ", c.Op)
	}
	b.WriteString(string(c.Kind))
	if c.Name != "" {
		b.WriteString(" " + c.Name)
	}
	for i, f := range c.Fields {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(" " + f.String())
	}
	if effect := c.effect(); effect != "" {
		fmt.Fprintf(&b, " (%s)", effect)
	}
	return b.String()
}

func (c Change) effect() string {
	switch {
	case c.Interrupts != InterruptsNothing:
		return c.Interrupts
	case c.Kind == KindNeighbor && c.Op == Modify:
		return "no session reset"
	case c.Kind == KindPolicy && len(c.Neighbors) > 0:
		return "no session reset; judges again the routes of " + strings.Join(texts(c.Neighbors), ", ")
	case c.Kind == KindPolicy:
		return "used by no neighbor"
	}
	return ""
}

// String is one line for every change, each with a newline.
func (p Plan) String() string {
	var b strings.Builder
	for _, c := range p {
		b.WriteString(c.String())
		b.WriteByte('\n')
	}
	return b.String()
}
