package config

import (
	"regexp"
	"unicode"

	"github.com/hashicorp/hcl/v2"
)

// decoder makes the values of a Config out of sections and checks what they mean
// together. The order is that of reference, not that of the file: what others
// name comes first.
type decoder struct {
	found  *defects
	whole  bool // the syntax is whole, so that what seems undefined is undefined
	config *Config
	own    subnets

	lists       map[string][]PrefixMatch // prefix lists by name
	policyNames map[string]bool
}

func (d *decoder) decode(root *section) {
	d.lists, d.policyNames = make(map[string][]PrefixMatch), make(map[string]bool)
	d.router(root.one("router"))
	d.dataplane(root.one("dataplane"))
	d.ports(root.all("port"))
	d.defaultRouterID()
	d.prefixLists(root.all("prefix_list"))
	d.policies(root.all("policy"))
	d.routes(root.all("route"))
	d.bgp(root.one("bgp"))
	d.control(root.one("control"))
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// label checks the name of a group, a term, a policy or a prefix list.
func (d *decoder) label(s *section) string {
	if !namePattern.MatchString(s.label) {
		d.found.add(s.name, "%s: a name has 1 to 63 letters, digits, dots, dashes and underscores and starts with a letter or digit", s.title())
	}
	return s.label
}

// descriptionLimit is the longest description in bytes.
const descriptionLimit = 255

func (d *decoder) description(s *section) string {
	text := s.text("description", "")
	if len(text) > descriptionLimit {
		d.found.add(s.at("description"), "description is longer than %d bytes", descriptionLimit)
	}
	d.printable(s.at("description"), "description", text)
	return text
}

// printable refuses a text that would garble a terminal or a log.
func (d *decoder) printable(at hcl.Range, what, text string) {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			d.found.add(at, "%s has a character that can not be printed, %U", what, r)
			return
		}
	}
}
