package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format writes c as the canonical text of routerd.conf: blocks in the order of the
// language, arguments that have their default left out, the arguments of groups
// written at each neighbor, comments dropped. Parsing the text of a Config that
// Parse made gives an equal Config.
func Format(c *Config) []byte { return format(c, true) }

// format writes c, with the equals signs of a block in one column where align is set.
func format(c *Config, align bool) []byte {
	w := &writer{align: align}
	w.router(c.Router)
	w.dataplane(c.Dataplane)
	for _, p := range c.Ports {
		w.port(p, c.Dataplane.Workers)
	}
	for _, r := range c.Routes {
		w.route(r)
	}
	for _, l := range c.PrefixLists {
		w.block("prefix_list", l.Name, func() { w.list("prefixes", texts(l.Prefixes)) })
	}
	for _, p := range c.Policies {
		w.policy(p)
	}
	w.bgp(c.BGP)
	w.control(c.Control)
	return []byte(w.text.String())
}

// writer writes the text block by block.
type writer struct {
	text  strings.Builder
	depth int
	align bool
	args  []argument // of the open block, not yet written
}

type argument struct{ name, value string }

func (w *writer) line(text string) {
	w.text.WriteString(strings.Repeat("  ", w.depth))
	w.text.WriteString(text)
	w.text.WriteByte('\n')
}

// block writes a block around what body writes.
func (w *writer) block(name, label string, body func()) {
	w.flush()
	if w.depth == 0 && w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	if label != "" {
		name += " " + quote(label)
	}
	w.line(name + " {")
	w.depth++
	body()
	w.flush()
	w.depth--
	w.line("}")
}

// flush writes the arguments collected so far.
func (w *writer) flush() {
	width := 0
	for _, a := range w.args {
		if w.align {
			width = max(width, len(a.name))
		}
	}
	for _, a := range w.args {
		w.line(fmt.Sprintf("%-*s = %s", width, a.name, a.value))
	}
	w.args = w.args[:0]
}

// raw adds an argument whose value needs no quotes.
func (w *writer) raw(name, value string) { w.args = append(w.args, argument{name, value}) }

func (w *writer) str(name, value string) {
	if value != "" {
		w.raw(name, quote(value))
	}
}

func (w *writer) number(name string, value, fallback int) {
	if value != fallback {
		w.raw(name, strconv.Itoa(value))
	}
}

func (w *writer) flag(name string, value bool) {
	if value {
		w.raw(name, "true")
	}
}

func (w *writer) seconds(name string, value, fallback time.Duration) {
	if value != fallback {
		w.raw(name, quote(secondsText(value)))
	}
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%ds", d/time.Second) }

func (w *writer) optional(name string, value *uint32) {
	if value != nil {
		w.raw(name, strconv.FormatUint(uint64(*value), 10))
	}
}

// list adds a list, one item a line unless there is only one.
func (w *writer) list(name string, items []string) {
	switch len(items) {
	case 0:
	case 1:
		w.raw(name, "["+quote(items[0])+"]")
	default:
		indent := "\n" + strings.Repeat("  ", w.depth)
		var b strings.Builder
		b.WriteByte('[')
		for _, item := range items {
			b.WriteString(indent + "  " + quote(item) + ",")
		}
		b.WriteString(indent + "]")
		w.raw(name, b.String())
	}
}

// quote writes a text as HCL wants it.
func quote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{").Replace(s)
	return `"` + s + `"`
}

func (w *writer) router(r Router) {
	if r == (Router{}) {
		return
	}
	w.block("router", "", func() {
		w.str("name", r.Name)
		w.number("as", int(r.AS), 0)
		w.str("id", addressText(r.ID))
	})
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func (w *writer) dataplane(p Dataplane) {
	if len(p.CPUs) == 0 && p.Workers == 1 && p.Idle == IdleAdaptive && p.Buffers == 0 {
		return
	}
	w.block("dataplane", "", func() {
		w.str("cpus", cpusText(p.CPUs))
		if len(p.CPUs) == 0 {
			w.number("workers", p.Workers, 1)
		}
		if p.Idle != IdleAdaptive {
			w.str("idle", string(p.Idle))
		}
		w.number("buffers", p.Buffers, 0)
	})
}

// cpusText writes CPU numbers as parse reads them: rising runs as ranges.
func cpusText(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		last := i
		for last+1 < len(cpus) && cpus[last+1] == cpus[last]+1 {
			last++
		}
		part := strconv.Itoa(cpus[i])
		if last > i {
			part += "-" + strconv.Itoa(cpus[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}

func (w *writer) port(p Port, workers int) {
	w.block("port", p.Name, func() {
		w.str("description", p.Description)
		w.str("device", p.Device)
		w.number("queues", p.Queues, workers)
		w.number("mtu", p.MTU, 0)
		w.list("addresses", texts(p.Addresses))
	})
}

func (w *writer) route(r Route) {
	w.block("route", r.Prefix.String(), func() {
		if r.Action == ActionForward {
			w.list("via", texts(r.Via))
		} else {
			w.str("action", string(r.Action))
		}
		w.number("distance", r.Distance, 1)
	})
}

func texts[T fmt.Stringer](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.String()
	}
	return list
}

// String writes the match as prefix lists do: "198.18.0.0/23 le 24".
func (m PrefixMatch) String() string {
	text, bits := m.Prefix.String(), m.Prefix.Bits()
	if m.MinLen > bits {
		text += fmt.Sprintf(" ge %d", m.MinLen)
		if m.MaxLen == 32 {
			return text
		}
	}
	if m.MaxLen > bits {
		text += fmt.Sprintf(" le %d", m.MaxLen)
	}
	return text
}

func communityTexts(values []string) []string {
	list := slices.Clone(values)
	for i, v := range list {
		for _, w := range wellKnown {
			if v == w.value {
				list[i] = w.name
			}
		}
	}
	return list
}
