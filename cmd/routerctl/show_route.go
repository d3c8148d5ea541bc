package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

func (c *ctl) showRoute() *cobra.Command {
	var longer, notInFIB bool
	var from, peer string
	cmd := &cobra.Command{
		Use:   "route [ADDRESS | PREFIX]",
		Short: "Every candidate for a prefix, which one wins, and why the others lose",
		Args:  func(cmd *cobra.Command, args []string) error { return between(0, 1)(cmd, tolerate(args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			q := api.RouteQuery{NotInFIB: notInFIB}
			var err error
			if q.Query, err = selection(cmd, args, longer); err != nil {
				return err
			}
			if q.Source, err = source(from); err != nil {
				return err
			}
			if peer != "" {
				if q.Peer, err = api.ParseAddress(peer); err != nil {
					return err
				}
			}
			return c.route(cmd.Context(), q)
		},
	}
	cmd.Flags().BoolVar(&longer, "longer", false, "PREFIX and all inside it")
	cmd.Flags().BoolVar(&notInFIB, "not-in-fib", false, "only routes that are not in the FIB, with the reason")
	cmd.Flags().StringVar(&peer, "peer", "", "only routes with a candidate of the BGP neighbor `ADDRESS`")
	sourceFlag(cmd, &from, "only routes with a candidate of the `SOURCE` connected, static, ebgp or ibgp")
	return cmd
}

func (c *ctl) route(ctx context.Context, q api.RouteQuery) error {
	client := c.client()
	if c.format == "json" {
		return c.printRows("routes", client.RouteRows(ctx, q))
	}
	p := newPage(c.out)
	none := true
	for r, err := range client.Routes(ctx, q) {
		if err != nil {
			p.Flush()
			return err
		}
		none = false
		c.routeBlock(p, &r)
	}
	if none {
		c.notef("no route")
	}
	return p.Flush()
}

// routeBlock writes one prefix with all its candidates; > marks those in use.
func (c *ctl) routeBlock(p *page, r *api.Route) {
	p.linef("%s", r.Prefix)
	t := &table{}
	best := false
	for _, can := range r.Candidates {
		mark, verdict := " ", "loses: "+can.Loses
		if can.Best {
			best = true
			mark, verdict = ">", "in FIB"
			if !r.InFIB {
				verdict = "not in FIB: " + r.NotInFIB
			}
		}
		t.add(mark+" "+string(can.Source), fmt.Sprintf("distance %d", can.Distance), how(can), "age "+c.age(can.Since), verdict)
	}
	if len(t.rows) > 0 {
		t.write(p, "")
	}
	if !r.InFIB && !best && r.NotInFIB != "" {
		p.linef("! not in FIB: %s", r.NotInFIB)
	}
	for _, can := range r.Candidates {
		if can.Path != nil {
			p.linef("  %s: %s", peerName(can), attributes(can.Path))
		}
	}
	if len(r.Covering) > 0 {
		above := make([]string, len(r.Covering))
		for i, cov := range r.Covering {
			above[i] = fmt.Sprintf("%s %s (%s)", cov.Prefix, target(cov.Action, cov.NextHops), cov.Source)
		}
		p.linef("covering: %s", strings.Join(above, ", "))
	}
}

// how says what a candidate would do with packets.
func how(can api.Candidate) string {
	s := target(can.Action, can.NextHops)
	if can.Note != "" {
		s += ", " + can.Note
	}
	if can.Path != nil {
		s += ", AS path " + asPath(can.Path)
	}
	return s
}

func target(a api.Action, hops []api.NextHop) string {
	switch a {
	case api.ActionForward:
		return "via " + via(hops)
	case api.ActionGlean:
		return "on port " + via(hops)
	case api.ActionLocal:
		return "own address on " + via(hops)
	}
	return string(a)
}

func asPath(b *api.BGPPath) string {
	if b.ASPath == "" {
		return "empty"
	}
	return b.ASPath
}

func peerName(can api.Candidate) string {
	if can.PeerDescription == "" {
		return can.Peer.String()
	}
	return can.Peer.String() + " (" + can.PeerDescription + ")"
}

// attributes writes what decides between BGP routes.
func attributes(b *api.BGPPath) string {
	s := fmt.Sprintf("local pref %d, origin %s", b.LocalPref, b.Origin)
	if b.MED != nil {
		s += fmt.Sprintf(", MED %d", *b.MED)
	}
	if len(b.Communities) > 0 {
		s += ", communities " + strings.Join(b.Communities, " ")
	}
	return s
}
