package bgp

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/osrg/gobgp/v4/api"

	"routerd/config"
)

// GoBGP's policies decide only what is passed on to other neighbours; what we use
// ourselves is decided by rules. Both come from the same config.Policy.
//
// GoBGP has no policy for one neighbour: there is a global import and a global
// export policy, both with the default to reject, made of statements that name
// the neighbours they are for. They are always replaced as a whole.
const (
	engineImport = "import"
	engineExport = "export"
)

// policyBuilder collects the defined sets and the statements of both policies.
type policyBuilder struct {
	as    uint32
	sets  map[string]*api.DefinedSet
	lists map[string][]*api.Statement
}

func enginePolicies(c *config.Config, own []netip.Addr) *api.SetPoliciesRequest {
	b := &policyBuilder{as: c.Router.AS, sets: make(map[string]*api.DefinedSet), lists: make(map[string][]*api.Statement)}
	b.imports(c, own)
	b.exports(c)
	req := &api.SetPoliciesRequest{}
	for _, name := range slices.Sorted(maps.Keys(b.sets)) {
		req.DefinedSets = append(req.DefinedSets, b.sets[name])
	}
	for _, name := range []string{engineImport, engineExport} {
		req.Policies = append(req.Policies, &api.Policy{Name: name, Statements: b.lists[name]})
	}
	return req
}

func (b *policyBuilder) imports(c *config.Config, own []netip.Addr) {
	b.add(engineImport, &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_LOCAL}, accept())
	prefixes, all := exportable(c)
	switch {
	case all:
	case len(prefixes) == 0:
		b.add(engineImport, nil, reject())
		return
	default:
		// A full table need not be kept and propagated a second time when no export
		// policy can let it pass.
		b.add(engineImport, &api.Conditions{PrefixSet: b.prefixSet("exportable", prefixes, api.MatchSet_TYPE_INVERT)}, reject())
	}
	as := strconv.FormatUint(uint64(b.as), 10)
	b.add(engineImport, &api.Conditions{PrefixSet: b.prefixSet("martians", []config.PrefixMatch{
		{Prefix: martians[0], MinLen: 8, MaxLen: 32},
		{Prefix: martians[1], MinLen: 8, MaxLen: 32},
		{Prefix: martians[2], MinLen: 3, MaxLen: 32},
	}, api.MatchSet_TYPE_ANY)}, reject())
	// The first form is compared without a regular expression, but sees no AS_SET.
	b.add(engineImport, &api.Conditions{AsPathSet: b.set(api.DefinedType_DEFINED_TYPE_AS_PATH, "own-as", api.MatchSet_TYPE_ANY,
		"_"+as+"_", `\{([0-9]+,)*`+as+`[,}]`)}, reject())
	if len(own) > 0 {
		hops := make([]string, len(own))
		for i, a := range own {
			hops[i] = a.String()
		}
		b.add(engineImport, &api.Conditions{NextHopInList: hops}, reject())
	}
	peers := make(map[uint32][]netip.Addr)
	for _, n := range neighborsOf(c) {
		if !n.Internal(b.as) {
			peers[n.AS] = append(peers[n.AS], n.Address)
		}
	}
	for _, as := range slices.Sorted(maps.Keys(peers)) {
		name := strconv.FormatUint(uint64(as), 10)
		b.add(engineImport, &api.Conditions{
			NeighborSet: b.neighbors("peers-in-"+name, peers[as]),
			AsPathSet:   b.set(api.DefinedType_DEFINED_TYPE_AS_PATH, "first-"+name, api.MatchSet_TYPE_INVERT, "^"+name+"_"),
		}, reject())
	}
	b.policies(engineImport, c, func(n config.Neighbor) string { return n.Import })
}

func (b *policyBuilder) exports(c *config.Config) {
	b.add(engineExport, &api.Conditions{CommunitySet: b.communities("no-advertise", communityNoAdvertise)}, reject())
	var external []netip.Addr
	for _, n := range neighborsOf(c) {
		if !n.Internal(b.as) {
			external = append(external, n.Address)
		}
	}
	if len(external) > 0 {
		b.add(engineExport, &api.Conditions{
			NeighborSet:  b.neighbors("external", external),
			CommunitySet: b.communities("no-export", communityNoExport, communityNoExportSubconfed),
		}, reject())
	}
	for _, n := range neighborsOf(c) {
		if n.Prepend > 0 && !n.Internal(b.as) {
			b.add(engineExport, &api.Conditions{NeighborSet: b.neighbors("prepend-"+n.Address.String(), []netip.Addr{n.Address})},
				&api.Actions{AsPrepend: b.prepend(n.Prepend)})
		}
	}
	b.policies(engineExport, c, func(n config.Neighbor) string { return n.Export })
}

// policies adds the terms of every policy that a neighbour names in direction.
func (b *policyBuilder) policies(direction string, c *config.Config, policyOf func(config.Neighbor) string) {
	users := make(map[string][]netip.Addr)
	for _, n := range neighborsOf(c) {
		if name := policyOf(n); name != "" {
			users[name] = append(users[name], n.Address)
		}
	}
	for _, p := range c.Policies {
		peers := users[p.Name]
		if len(peers) == 0 {
			continue
		}
		who := b.neighbors(direction+"-"+p.Name, peers)
		for i, t := range p.Terms {
			name := p.Name + "/" + strconv.Itoa(i)
			when := &api.Conditions{NeighborSet: who}
			if t.PrefixList != "" || len(t.Prefixes) > 0 {
				if when.PrefixSet = b.prefixSet(name, t.Prefixes, api.MatchSet_TYPE_ANY); when.PrefixSet == nil {
					continue // an empty list matches nothing
				}
			}
			if len(t.Communities) > 0 {
				list, _ := parseCommunities(t.Communities) // compile has looked at them
				when.CommunitySet = b.communities(name, list...)
			}
			b.add(direction, when, b.actions(t, direction))
		}
		b.add(direction, &api.Conditions{NeighborSet: who}, reject())
	}
}

func (b *policyBuilder) actions(t config.Term, direction string) *api.Actions {
	if !t.Accept {
		return reject()
	}
	a := accept()
	if t.SetLocalPref != nil {
		a.LocalPref = &api.LocalPrefAction{Value: max(*t.SetLocalPref, 1)} // GoBGP takes 0 for unset
	}
	if t.SetMED != nil {
		a.Med = &api.MedAction{Type: api.MedAction_TYPE_REPLACE, Value: int64(*t.SetMED)}
	}
	if t.Prepend > 0 && direction == engineExport {
		a.AsPrepend = b.prepend(t.Prepend)
	}
	if list, _ := parseCommunities(t.AddCommunity); len(list) > 0 {
		a.Community = &api.CommunityAction{Type: api.CommunityAction_TYPE_ADD}
		for _, c := range list {
			a.Community.Communities = append(a.Community.Communities, FormatCommunity(c))
		}
	}
	return a
}

func (b *policyBuilder) prepend(times int) *api.AsPrependAction {
	return &api.AsPrependAction{Asn: b.as, Repeat: uint32(times)}
}

func accept() *api.Actions { return &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT} }
func reject() *api.Actions { return &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_REJECT} }

func (b *policyBuilder) add(direction string, when *api.Conditions, then *api.Actions) {
	n := len(b.lists[direction])
	b.lists[direction] = append(b.lists[direction],
		&api.Statement{Name: fmt.Sprintf("%s-%d", direction, n), Conditions: when, Actions: then})
}

func (b *policyBuilder) set(kind api.DefinedType, name string, match api.MatchSet_Type, list ...string) *api.MatchSet {
	name = kind.String() + " " + name
	b.sets[name] = &api.DefinedSet{DefinedType: kind, Name: name, List: list}
	return &api.MatchSet{Type: match, Name: name}
}

func (b *policyBuilder) neighbors(name string, peers []netip.Addr) *api.MatchSet {
	list := make([]string, len(peers))
	for i, p := range peers {
		list[i] = netip.PrefixFrom(p, p.BitLen()).String()
	}
	return b.set(api.DefinedType_DEFINED_TYPE_NEIGHBOR, name, api.MatchSet_TYPE_ANY, list...)
}

func (b *policyBuilder) communities(name string, list ...uint32) *api.MatchSet {
	exact := make([]string, len(list))
	for i, c := range list {
		exact[i] = "^" + FormatCommunity(c) + "$"
	}
	return b.set(api.DefinedType_DEFINED_TYPE_COMMUNITY, name, api.MatchSet_TYPE_ANY, exact...)
}

// prefixSet is nil where list holds no IPv4 prefix: GoBGP's empty set matches nothing
// and its inversion neither.
func (b *policyBuilder) prefixSet(name string, list []config.PrefixMatch, match api.MatchSet_Type) *api.MatchSet {
	var prefixes []*api.Prefix
	for _, m := range list {
		if m.Prefix.Addr().Is4() {
			prefixes = append(prefixes, &api.Prefix{IpPrefix: m.Prefix.Masked().String(),
				MaskLengthMin: uint32(m.MinLen), MaskLengthMax: uint32(m.MaxLen)})
		}
	}
	if len(prefixes) == 0 {
		return nil
	}
	out := b.set(api.DefinedType_DEFINED_TYPE_PREFIX, name, match)
	b.sets[out.Name].Prefixes = prefixes
	return out
}

// exportable returns every prefix that some neighbour's export policy could accept,
// or all where one could accept any.
func exportable(c *config.Config) (list []config.PrefixMatch, all bool) {
	used := make(map[string]bool)
	for _, n := range neighborsOf(c) {
		used[n.Export] = true
	}
	seen := make(map[config.PrefixMatch]bool)
	for _, p := range c.Policies {
		if !used[p.Name] {
			continue
		}
		for _, t := range p.Terms {
			if !t.Accept {
				continue
			}
			if t.PrefixList == "" && len(t.Prefixes) == 0 {
				return nil, true
			}
			for _, m := range t.Prefixes {
				if m.Prefix.Addr().Is4() && !seen[m] {
					seen[m] = true
					list = append(list, m)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b config.PrefixMatch) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), a.Prefix.Bits()-b.Prefix.Bits(), a.MinLen-b.MinLen, a.MaxLen-b.MaxLen)
	})
	return list, false
}

// neighborsOf returns the neighbours by address, so that equal configurations give
// equal policies.
func neighborsOf(c *config.Config) []config.Neighbor {
	if c.BGP == nil {
		return nil
	}
	list := slices.Clone(c.BGP.Neighbors)
	slices.SortFunc(list, func(a, b config.Neighbor) int { return a.Address.Compare(b.Address) })
	return list
}
