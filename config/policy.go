package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// maxPrepend is the largest number of times that the own AS is put in front.
const maxPrepend = 16

func (d *decoder) prefixLists(sections []*section) {
	for _, s := range sections {
		l := PrefixList{Name: d.label(s)}
		if s.require("prefixes", `["192.0.2.0/24"]`) {
			for _, item := range s.list("prefixes") {
				if m, ok := d.prefixMatch(item); ok {
					l.Prefixes = append(l.Prefixes, m)
				}
			}
		}
		d.lists[l.Name] = l.Prefixes
		d.config.PrefixLists = append(d.config.PrefixLists, l)
	}
}

// prefixMatch reads "PREFIX [ge LENGTH] [le LENGTH]".
func (d *decoder) prefixMatch(it item) (PrefixMatch, bool) {
	words := strings.Fields(it.text)
	if len(words) == 0 {
		d.found.add(it.at, "an item of prefixes is empty")
		return PrefixMatch{}, false
	}
	p, ok := d.network(it.at, "prefix", words[0])
	if !ok {
		return PrefixMatch{}, false
	}
	m := PrefixMatch{Prefix: p, MinLen: p.Bits(), MaxLen: p.Bits()}
	ge, le, ok := lengths(words[1:], p.Bits())
	if !ok {
		d.found.add(it.at, "prefix %q: write PREFIX, PREFIX le LENGTH, PREFIX ge LENGTH or PREFIX ge LENGTH le LENGTH, with %d <= ge <= le <= 32",
			printable(it.text), p.Bits())
		return PrefixMatch{}, false
	}
	m.MinLen, m.MaxLen = ge, le
	return m, true
}

// lengths reads "ge N", "le N" or both behind a prefix of the length bits.
func lengths(words []string, bits int) (ge, le int, ok bool) {
	ge, le = bits, bits
	if len(words) >= 2 && words[0] == "ge" {
		if ge, ok = length(words[1]); !ok {
			return 0, 0, false
		}
		le, words = 32, words[2:]
	}
	if len(words) >= 2 && words[0] == "le" {
		if le, ok = length(words[1]); !ok {
			return 0, 0, false
		}
		words = words[2:]
	}
	return ge, le, len(words) == 0 && bits <= ge && ge <= le
}

func length(word string) (int, bool) {
	n, err := strconv.ParseUint(word, 10, 8)
	return int(n), err == nil && n <= 32
}

func (d *decoder) policies(sections []*section) {
	for _, s := range sections {
		p := Policy{Name: d.label(s)}
		for _, t := range s.all("term") {
			p.Terms = append(p.Terms, d.term(t))
		}
		d.policyNames[p.Name] = true
		d.config.Policies = append(d.config.Policies, p)
	}
}

func (d *decoder) term(s *section) Term {
	t := Term{Name: d.label(s)}
	if s.require("then", `"accept"`) {
		t.Accept = s.word("then", "accept", "accept", "reject") == "accept"
	}
	if match := s.one("match"); match != nil {
		d.match(match, &t)
	}
	if set := s.one("set"); set != nil {
		d.set(set, &t)
		if !t.Accept && s.has("then") {
			d.found.add(set.header, "%s has no effect: the term rejects", set.title())
		}
	}
	return t
}

func (d *decoder) match(s *section, t *Term) {
	t.Communities = d.communities(s, "community")
	if !s.has("prefix_list") {
		return
	}
	t.PrefixList = s.text("prefix_list", "")
	prefixes, ok := d.lists[t.PrefixList]
	if !ok && d.whole {
		undefined(d, s.at("prefix_list"), "prefix_list", t.PrefixList, d.lists)
	}
	t.Prefixes = prefixes
}

// undefined reports a reference to a name that is nowhere defined.
func undefined[V any](d *decoder, at hcl.Range, what, name string, known map[string]V) {
	names := slices.Sorted(maps.Keys(known))
	d.found.add(at, "%s %q is not defined%s%s", what, printable(name), defined(names), didYouMean(name, names))
}

func (d *decoder) set(s *section, t *Term) {
	t.SetLocalPref = optional(s, "local_pref")
	t.SetMED = optional(s, "med")
	t.Prepend = int(s.number("prepend", 0, 0, maxPrepend))
	t.AddCommunity = d.communities(s, "add_community")
}

func optional(s *section, name string) *uint32 {
	if !s.has(name) {
		return nil
	}
	n := uint32(s.number(name, 0, 0, 1<<32-1))
	return &n
}

// wellKnown are the names of communities, RFC 1997, 7999 and 8326.
var wellKnown = []struct{ name, value string }{
	{"no-export", "65535:65281"},
	{"no-advertise", "65535:65282"},
	{"blackhole", "65535:666"},
	{"graceful-shutdown", "65535:0"},
}

func (d *decoder) communities(s *section, argument string) []string {
	var list []string
	for _, item := range s.list(argument) {
		if c, ok := d.community(item); ok {
			list = append(list, c)
		}
	}
	return list
}

// community reads "AS:VALUE" or a well-known name and gives "AS:VALUE".
func (d *decoder) community(it item) (string, bool) {
	parts := strings.Split(it.text, ":")
	if len(parts) == 1 {
		names := make([]string, len(wellKnown))
		for i, w := range wellKnown {
			if w.name == it.text {
				return w.value, true
			}
			names[i] = w.name
		}
		d.found.add(it.at, "community %q is unknown: write \"AS:VALUE\" or one of %s%s",
			printable(it.text), strings.Join(names, ", "), didYouMean(it.text, names))
		return "", false
	}
	if len(parts) == 3 {
		d.found.add(it.at, "community %q is a large community; only \"AS:VALUE\" is possible", printable(it.text))
		return "", false
	}
	as, errAS := strconv.ParseUint(parts[0], 10, 16)
	value, errValue := strconv.ParseUint(parts[len(parts)-1], 10, 16)
	if len(parts) != 2 || errAS != nil || errValue != nil {
		d.found.add(it.at, "community %q must be \"AS:VALUE\", both 0 to 65535", printable(it.text))
		return "", false
	}
	return strconv.FormatUint(as, 10) + ":" + strconv.FormatUint(value, 10), true
}
