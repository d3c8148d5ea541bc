package main

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"time"

	"routerd/control/api"
	"routerd/control/bgp"
	"routerd/control/rib"
	"routerd/dataplane/attach"
	"routerd/fib"
)

var sources = map[rib.Source]api.Source{
	rib.Connected: api.SourceConnected,
	rib.Static:    api.SourceStatic,
	rib.EBGP:      api.SourceEBGP,
	rib.IBGP:      api.SourceIBGP,
}

var apiActions = map[fib.Action]api.Action{
	fib.ActionForward:     api.ActionForward,
	fib.ActionGlean:       api.ActionGlean,
	fib.ActionLocal:       api.ActionLocal,
	fib.ActionBlackhole:   api.ActionBlackhole,
	fib.ActionUnreachable: api.ActionUnreachable,
	fib.ActionNoRoute:     api.ActionUnreachable,
}

// renderer turns routes of the RIB into what the API shows. It takes neighbours, ports and
// descriptions once for a whole answer.
type renderer struct {
	neighbors    map[hop]attach.Neighbor
	macs         map[string]string // by port
	descriptions map[netip.Addr]string
}

type hop struct {
	port    string
	gateway netip.Addr
}

func (r *router) renderer(ctx context.Context) *renderer {
	v := &renderer{neighbors: map[hop]attach.Neighbor{}, macs: map[string]string{}, descriptions: map[netip.Addr]string{}}
	// Without an answer the routes are shown without their neighbours' state.
	list, _ := r.neighbors(ctx)
	for _, n := range list {
		v.neighbors[hop{n.Port, n.Address}] = n
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, s := range r.ports {
		v.macs[s.Name] = s.MAC
	}
	if r.cfg.BGP != nil {
		for _, n := range r.cfg.BGP.Neighbors {
			v.descriptions[n.Address] = n.Description
		}
	}
	return v
}

func (v *renderer) nextHops(hops []rib.Hop) []api.NextHop {
	var out []api.NextHop
	for _, h := range hops {
		n := api.NextHop{Address: h.Gateway, Port: h.PortName}
		if neighbor, ok := v.neighbors[hop{h.PortName, h.Gateway}]; ok {
			n.DstMAC, n.State = neighbor.MAC, neighborState(neighbor.State)
			n.SrcMAC = v.macs[h.PortName]
		}
		out = append(out, n)
	}
	return out
}

func (v *renderer) fibEntry(route rib.Route) api.FIBEntry {
	e := api.FIBEntry{Prefix: route.Prefix, Since: route.Since, NextHops: v.nextHops(route.NextHops), Backups: v.nextHops(route.Backup)}
	if w := route.Winner(); w != nil {
		e.Source, e.Peer, e.Action = sources[w.Source], w.Peer, apiActions[w.Action]
		e.PeerDescription = v.descriptions[w.Peer]
		if len(route.NextHops) > 0 {
			e.Action = apiActions[route.NextHops[0].Action]
		}
	}
	return e
}

// candidate shows c; since is when the candidates in use became so.
func (v *renderer) candidate(c rib.Candidate, since time.Time) api.Candidate {
	out := api.Candidate{Source: sources[c.Source], Distance: int(c.Distance), Best: c.Used, Action: apiActions[c.Action],
		Peer: c.Peer, PeerDescription: v.descriptions[c.Peer], Note: c.Detail}
	if c.Used {
		out.Since = since
	} else {
		out.Loses = c.Loses.String()
	}
	if c.Stale {
		out.Note = "from before the neighbor's restart"
	}
	if c.Port != "" {
		out.NextHops = append(out.NextHops, api.NextHop{Port: c.Port})
	}
	for _, via := range c.Via {
		if len(via.Hops) == 0 {
			out.NextHops = append(out.NextHops, api.NextHop{Address: via.Gateway})
			if !c.Used && via.Problem != "" {
				out.Loses = via.Problem
			}
		}
		out.NextHops = append(out.NextHops, v.nextHops(via.Hops)...)
	}
	if c.Path != nil {
		if a, ok := c.Path.Attrs.(*bgp.Attrs); ok {
			out.Path = path(a)
		}
	}
	return out
}

func path(a *bgp.Attrs) *api.BGPPath {
	p := &api.BGPPath{ASPath: a.ASPath, LocalPref: a.LocalPref}
	for _, c := range a.Communities {
		p.Communities = append(p.Communities, bgp.FormatCommunity(c))
	}
	for _, c := range a.Large {
		p.Communities = append(p.Communities, c.String())
	}
	switch a.Origin {
	case bgp.OriginIGP:
		p.Origin = "igp"
	case bgp.OriginEGP:
		p.Origin = "egp"
	default:
		p.Origin = "incomplete"
	}
	if a.HasMED {
		p.MED = &a.MED
	}
	return p
}

// selected are the routes that q asks for.
func (r *router) selected(q api.Query) iter.Seq[rib.Route] {
	switch {
	case q.Address.IsValid():
		return func(yield func(rib.Route) bool) {
			if route, ok := r.rib.Lookup(q.Address); ok {
				yield(route)
			}
		}
	case q.Prefix.IsValid() && !q.Longer:
		return func(yield func(rib.Route) bool) {
			if route, ok := r.rib.Get(q.Prefix); ok {
				yield(route)
			}
		}
	case q.Prefix.IsValid():
		return r.rib.Routes(q.Prefix)
	}
	return r.rib.Routes(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
}

// FIB implements api.Backend. An entry that the RIB has no route for yet, left by an
// earlier control process, is read from the FIB itself.
func (r *router) FIB(ctx context.Context, q api.FIBQuery) iter.Seq2[api.FIBEntry, error] {
	return func(yield func(api.FIBEntry, error) bool) {
		if err := r.portExists(q.Port); err != nil {
			yield(api.FIBEntry{}, err)
			return
		}
		if q.Address.IsValid() {
			// The FIB knows what a packet to that address takes.
			match, ok := netip.Prefix{}, false
			if r.withFIB(func(p *plane) { match, _, ok = p.fib.Match(q.Address) }) {
				if !ok {
					return
				}
				q.Query = api.Query{Prefix: match}
			}
		}
		v := r.renderer(ctx)
		stale, stop := iter.Pull(r.stale(q.Query))
		defer stop()
		left, more := stale()
		// before yields the stale entries up to p and reports whether to go on.
		before := func(p netip.Prefix) bool {
			for ; more && (!p.IsValid() || left.Compare(p) < 0); left, more = stale() {
				if e, ok := r.staleEntry(v, left); ok && !yield(e, nil) {
					return false
				}
			}
			return true
		}
		for route := range r.selected(q.Query) {
			if err := ctx.Err(); err != nil {
				yield(api.FIBEntry{}, err)
				return
			}
			if !before(route.Prefix) || route.InFIB && !yield(v.fibEntry(route), nil) {
				return
			}
		}
		before(netip.Prefix{})
	}
}

// portExists is ErrNotFound for the name of no port; the empty name is none.
func (r *router) portExists(name string) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var names []string
	for _, p := range r.cfg.Ports {
		if names = append(names, p.Name); p.Name == name {
			return nil
		}
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("%w: no port %q; ports: %s", api.ErrNotFound, name, strings.Join(names, ", "))
}

// stale are the stale prefixes that q asks for, in order.
func (r *router) stale(q api.Query) iter.Seq[netip.Prefix] {
	within := q.Prefix
	if !within.IsValid() {
		within = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	all := r.rib.Stale(within)
	if !q.Single() {
		return all
	}
	return func(yield func(netip.Prefix) bool) {
		for p := range all {
			if p == within {
				yield(p)
			}
			return
		}
	}
}

// staleEntry shows what the FIB has for a prefix that the RIB does not know. It reports
// false when the prefix has become a route or is gone.
func (r *router) staleEntry(v *renderer, prefix netip.Prefix) (api.FIBEntry, bool) {
	e := api.FIBEntry{Prefix: prefix, Source: api.SourceUnknown, Stale: true, Action: api.ActionUnreachable}
	var hops []fib.NextHop
	found := false
	r.withFIB(func(p *plane) {
		var group uint16
		if group, found = p.fib.Get(prefix); found {
			var members [fib.MaxMembers]uint16
			for _, i := range members[:p.table.Members(group, &members)] {
				hops = append(hops, p.table.NextHop(i))
			}
		}
	})
	if len(hops) > 0 {
		e.Action = apiActions[hops[0].Action]
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	var named []rib.Hop
	for _, h := range hops {
		named = append(named, rib.Hop{NextHop: h, PortName: r.portName(h)})
	}
	e.NextHops = v.nextHops(named)
	return e, found
}

// withFIB calls f with the forwarding process's FIB, if there is one.
func (r *router) withFIB(f func(*plane)) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	p := r.plane
	return p != nil && r.rib.WithFIB(func() { f(p) })
}

// portName is the name of the port that h leaves by. It is called under mu.
func (r *router) portName(h fib.NextHop) string {
	if h.Action != fib.ActionForward && h.Action != fib.ActionGlean && h.Action != fib.ActionLocal {
		return ""
	}
	for _, s := range r.ports {
		if s.Index == int(h.Port) {
			return s.Name
		}
	}
	return ""
}

// Routes implements api.Backend.
func (r *router) Routes(ctx context.Context, q api.RouteQuery) iter.Seq2[api.Route, error] {
	return func(yield func(api.Route, error) bool) {
		v := r.renderer(ctx)
		for route := range r.selected(q.Query) {
			if err := ctx.Err(); err != nil {
				yield(api.Route{}, err)
				return
			}
			out := api.Route{Prefix: route.Prefix, InFIB: route.InFIB, NotInFIB: route.Problem, Candidates: []api.Candidate{}}
			for _, c := range route.Candidates {
				out.Candidates = append(out.Candidates, v.candidate(c, route.Since))
			}
			if q.Address.IsValid() {
				out.Covering = v.covering(r.rib.Covering(q.Address), route.Prefix)
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

// covering are the routes less specific than below.
func (v *renderer) covering(routes []rib.Route, below netip.Prefix) []api.Covering {
	var out []api.Covering
	for _, route := range routes {
		if w := route.Winner(); w != nil && route.Prefix.Bits() < below.Bits() {
			e := v.fibEntry(route)
			out = append(out, api.Covering{Prefix: e.Prefix, Source: e.Source, Action: e.Action, NextHops: e.NextHops})
		}
	}
	return out
}

// FIBCounts implements api.Backend.
func (r *router) FIBCounts(context.Context) (api.FIBCounts, error) {
	s := r.rib.Status()
	c := api.FIBCounts{Connected: s.Connected, Static: s.Static, EBGP: s.EBGP, IBGP: s.IBGP,
		Stale: s.Stale, Failed: s.Failed, Total: s.InFIB + s.Stale}
	for _, f := range r.rib.Failures(20) {
		c.Failures = append(c.Failures, api.FIBFailure{Prefix: f.Prefix, Reason: f.Err.Error()})
	}
	var u fib.Stats
	if r.withFIB(func(p *plane) { u = p.fib.Stats() }) {
		c.Total = u.Prefixes
		c.TableOctets = uint64(u.TableBytes)
		c.ExtendedGroups, c.NextHops, c.NextHopGroups = usage(u.Extended), usage(u.NextHops), usage(u.Groups)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	c.Audit = r.audited
	return c, nil
}

func usage(u fib.Usage) api.Usage { return api.Usage{Used: u.Used, Max: u.Max} }
