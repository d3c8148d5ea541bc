package config

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Diff tells what must be done to get from old to new; equal configurations give an
// empty Plan. The order of ports, routes, policies, neighbors and sockets in the file
// means nothing; that of the terms of a policy does.
func Diff(old, new *Config) Plan {
	p := slices.Concat(
		diffRouter(old, new),
		diffDataplane(old.Dataplane, new.Dataplane),
		diffNamed(KindPort, old.Ports, new.Ports, func(p Port) string { return p.Name }, diffPort),
		diffNamed(KindRoute, old.Routes, new.Routes, func(r Route) string { return r.Prefix.String() }, diffRoute),
		diffNamed(KindPrefixList, old.PrefixLists, new.PrefixLists, func(l PrefixList) string { return l.Name }, diffPrefixList),
		diffPolicies(old, new),
		diffBGP(old.BGP, new.BGP),
		diffNamed(KindNeighbor, neighbors(old), neighbors(new), func(n Neighbor) string { return n.Address.String() }, diffNeighbor),
		diffNamed(KindSocket, old.Control, new.Control, func(s Socket) string { return s.Path }, diffSocket),
	)
	return Plan(p)
}

func neighbors(c *Config) []Neighbor {
	if c.BGP == nil {
		return nil
	}
	return c.BGP.Neighbors
}

// diffNamed compares two lists of things that have names: what is gone, then what is
// new or differs, in the order of the new list.
func diffNamed[T any](kind Kind, old, new []T, name func(T) string, compare func(old, new T) Change) []Change {
	var plan []Change
	before := make(map[string]T, len(old))
	for _, v := range old {
		before[name(v)] = v
	}
	now := make(map[string]bool, len(new))
	for _, v := range new {
		now[name(v)] = true
	}
	for _, v := range old {
		if !now[name(v)] {
			plan = append(plan, Change{Kind: kind, Op: Remove, Name: name(v)})
		}
	}
	for _, v := range new {
		was, existed := before[name(v)]
		if !existed {
			plan = append(plan, Change{Kind: kind, Op: Add, Name: name(v)})
			continue
		}
		if c := compare(was, v); len(c.Fields) > 0 {
			c.Kind, c.Op, c.Name = kind, Modify, name(v)
			plan = append(plan, c)
		}
	}
	return plan
}

// differ adds a field where the values differ, and what that interrupts.
func (c *Change) differ(name, old, new, interrupts string) {
	if old == new {
		return
	}
	c.Fields = append(c.Fields, Field{name, shown(old), shown(new)})
	if severity(interrupts) > severity(c.Interrupts) {
		c.Interrupts = interrupts
	}
}

func (c *Change) differInt(name string, old, new int, interrupts string) {
	c.differ(name, strconv.Itoa(old), strconv.Itoa(new), interrupts)
}

// severity orders the constants Interrupts…: a change interrupts what its worst field
// does.
func severity(interrupts string) int {
	return slices.Index([]string{
		InterruptsNothing, InterruptsLink, InterruptsPort, InterruptsSession,
		InterruptsSessions, InterruptsForwarding,
	}, interrupts)
}

// shown is a value as a plan shows it.
func shown(value string) string { return cmp.Or(value, "none") }

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return strconv.Quote(text)
}

func list[T interface{ String() string }](values []T) string {
	return strings.Join(texts(values), ", ")
}

func one(c Change, kind Kind) []Change {
	if len(c.Fields) == 0 {
		return nil
	}
	c.Kind, c.Op = kind, Modify
	return []Change{c}
}

func diffRouter(old, new *Config) []Change {
	restart := InterruptsNothing
	if old.BGP != nil && new.BGP != nil {
		restart = InterruptsSessions
	}
	var c Change
	c.differ("name", old.Router.Name, new.Router.Name, InterruptsNothing)
	c.differInt("as", int(old.Router.AS), int(new.Router.AS), restart)
	c.differ("id", addressText(old.Router.ID), addressText(new.Router.ID), restart)
	return one(c, KindRouter)
}

func diffDataplane(old, new Dataplane) []Change {
	var c Change
	c.differ("cpus", cpusText(old.CPUs), cpusText(new.CPUs), InterruptsForwarding)
	c.differInt("workers", old.Workers, new.Workers, InterruptsForwarding)
	c.differ("idle", string(old.Idle), string(new.Idle), InterruptsForwarding)
	c.differInt("buffers", old.Buffers, new.Buffers, InterruptsForwarding)
	return one(c, KindDataplane)
}

func diffPort(old, new Port) Change {
	var c Change
	c.differ("description", quoted(old.Description), quoted(new.Description), InterruptsNothing)
	c.differ("device", old.Device, new.Device, InterruptsPort)
	c.differInt("queues", old.Queues, new.Queues, InterruptsPort)
	c.differ("mtu", mtuText(old.MTU), mtuText(new.MTU), InterruptsLink)
	c.differ("addresses", list(old.Addresses), list(new.Addresses), InterruptsNothing)
	return c
}

func mtuText(mtu int) string {
	if mtu == 0 {
		return "as the system has it"
	}
	return strconv.Itoa(mtu)
}

func diffRoute(old, new Route) Change {
	var c Change
	if old.Action != ActionForward || new.Action != ActionForward {
		c.differ("action", string(old.Action), string(new.Action), InterruptsNothing)
	}
	c.differ("via", list(old.Via), list(new.Via), InterruptsNothing)
	c.differInt("distance", old.Distance, new.Distance, InterruptsNothing)
	return c
}

func diffPrefixList(old, new PrefixList) Change {
	var c Change
	c.differ("prefixes", list(old.Prefixes), list(new.Prefixes), InterruptsNothing)
	return c
}

// diffPolicies compares policies with their prefix lists resolved.
func diffPolicies(old, new *Config) []Change {
	plan := diffNamed(KindPolicy, old.Policies, new.Policies, func(p Policy) string { return p.Name }, diffPolicy)
	users := make(map[string][]netip.Addr)
	for _, n := range neighbors(new) {
		for _, name := range slices.Compact([]string{n.Import, n.Export}) {
			users[name] = append(users[name], n.Address)
		}
	}
	for i, c := range plan {
		plan[i].Neighbors = users[c.Name]
	}
	return plan
}

func diffPolicy(old, new Policy) Change {
	var c Change
	before := make(map[string]Term, len(old.Terms))
	for _, t := range old.Terms {
		before[t.Name] = t
	}
	for _, t := range new.Terms {
		was, existed := before[t.Name]
		delete(before, t.Name)
		if !existed {
			c.Fields = append(c.Fields, Field{"term " + t.Name, "", "added"})
		} else if !reflect.DeepEqual(was, t) {
			c.Fields = append(c.Fields, Field{"term " + t.Name, "", "changed"})
		}
	}
	for _, t := range old.Terms {
		if _, gone := before[t.Name]; gone {
			c.Fields = append(c.Fields, Field{"term " + t.Name, "", "removed"})
		}
	}
	if len(c.Fields) == 0 {
		c.differ("terms", termNames(old.Terms), termNames(new.Terms), InterruptsNothing)
	}
	return c
}

func termNames(terms []Term) string {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

func diffBGP(old, new *BGP) []Change {
	switch {
	case old == nil && new == nil:
		return nil
	case old == nil:
		return []Change{{Kind: KindBGP, Op: Add}}
	case new == nil:
		return []Change{{Kind: KindBGP, Op: Remove, Interrupts: InterruptsSessions}}
	}
	var c Change
	c.differInt("listen_port", old.ListenPort, new.ListenPort, InterruptsSessions)
	c.differInt("multipath", old.Multipath, new.Multipath, InterruptsNothing)
	c.differ("graceful_restart", secondsText(old.GracefulRestart), secondsText(new.GracefulRestart), InterruptsSessions)
	return one(c, KindBGP)
}

func diffNeighbor(old, new Neighbor) Change {
	var c Change
	c.differ("group", old.Group, new.Group, InterruptsNothing)
	c.differ("description", quoted(old.Description), quoted(new.Description), InterruptsNothing)
	c.differInt("as", int(old.AS), int(new.AS), InterruptsSession)
	c.differ("import", old.Import, new.Import, InterruptsNothing)
	c.differ("export", old.Export, new.Export, InterruptsNothing)
	c.differInt("port", old.Port, new.Port, InterruptsSession)
	c.differ("passive", strconv.FormatBool(old.Passive), strconv.FormatBool(new.Passive), InterruptsSession)
	c.differ("hold_time", secondsText(old.HoldTime), secondsText(new.HoldTime), InterruptsSession)
	c.differInt("max_prefixes", maxPrefixes(old), maxPrefixes(new), InterruptsNothing)
	c.differ("password_file", old.PasswordFile, new.PasswordFile, InterruptsSession)
	c.differ("ttl_security", strconv.FormatBool(old.TTLSecurity), strconv.FormatBool(new.TTLSecurity), InterruptsSession)
	c.differInt("multihop", old.Multihop, new.Multihop, InterruptsSession)
	c.differInt("prepend", old.Prepend, new.Prepend, InterruptsNothing)
	return c
}

// DefaultMaxPrefixes is what Neighbor.MaxPrefixes 0 stands for.
const DefaultMaxPrefixes = 1_200_000

func maxPrefixes(n Neighbor) int { return cmp.Or(n.MaxPrefixes, DefaultMaxPrefixes) }

func diffSocket(old, new Socket) Change {
	var c Change
	c.differ("group", old.Group, new.Group, InterruptsNothing)
	c.differ("access", string(old.Access), string(new.Access), InterruptsNothing)
	return c
}
