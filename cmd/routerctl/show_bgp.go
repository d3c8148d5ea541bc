package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

func (c *ctl) showBGP() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bgp",
		Short: "BGP sessions: state, routes, how the last one ended",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q after %q: there is neighbor", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := c.client().BGP(cmd.Context(), "")
			if err != nil {
				return err
			}
			return c.print(b, func(p *page) { c.bgpTable(p, b) })
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "neighbor ADDRESS | DESCRIPTION",
		Short: "One BGP session in full",
		Args:  exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := c.client().BGP(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(b, func(p *page) { c.bgpNeighbor(p, b.Neighbors[0]) })
		},
		ValidArgsFunction: c.complete(func(ctx context.Context, client *api.Client) []string {
			b, _ := client.BGP(ctx, "")
			var names []string
			for _, n := range b.Neighbors {
				names = append(names, n.Address.String()+"\t"+n.Description)
			}
			return names
		}),
	})
	return cmd
}

func (c *ctl) bgpTable(p *page, b api.BGP) {
	t := newTable("neighbor", "as", "state", "up", "received", "accepted", "advertised", "last down")
	for _, n := range b.Neighbors {
		up := "-"
		if n.State == api.SessionEstablished {
			up = c.age(n.Since)
		}
		last := c.lastDown(n)
		if len(n.Notes) > 0 {
			last = strings.Join(n.Notes, "; ")
		}
		t.add(n.Address.String(), strconv.FormatUint(uint64(n.AS), 10), string(n.State), up,
			number(n.Received), number(n.Accepted), number(n.Advertised), last)
	}
	t.write(p, "")
}

// lastDown says how the session ended last, and when it is tried again.
func (c *ctl) lastDown(n api.BGPNeighbor) string {
	s := "-"
	if n.LastDown != nil {
		s = c.ago(n.LastDown.Time) + ": " + n.LastDown.Reason
	}
	if wait := n.RetryAt.Sub(c.now()); !n.RetryAt.IsZero() && wait > 0 {
		s += ", retry in " + span(wait)
	}
	return s
}

func (c *ctl) bgpNeighbor(p *page, n api.BGPNeighbor) {
	kind := "external"
	if n.Internal {
		kind = "internal"
	}
	p.linef("%s  AS %d  %s  %s", n.Address, n.AS, kind, n.Description)
	p.linef("  state         %s for %s", n.State, c.age(n.Since))
	p.linef("  last down     %s", c.lastDown(n))
	if n.RouterID.IsValid() {
		p.linef("  router id     %s", n.RouterID)
	}
	p.linef("  routes        received %s of at most %s, accepted %s; of this router's own, advertised %s", number(n.Received), number(n.MaxPrefixes), number(n.Accepted), number(n.Advertised))
	for _, r := range n.Refused {
		p.linef("  refused       %s: %s", number(r.Routes), r.Reason)
	}
	p.linef("  import        %s", policy(n.ImportPolicy, "accepted"))
	p.linef("  export        %s", policy(n.ExportPolicy, "advertised"))
	hold := fmt.Sprintf("%d s configured", n.HoldTime)
	if n.Negotiated > 0 {
		hold += fmt.Sprintf(", %d s negotiated", n.Negotiated)
	}
	p.linef("  hold time     %s", hold)
	p.linef("  protection    TCP MD5 %s, TTL security %s", onOff(n.TCPMD5), onOff(n.TTLSecurity))
	p.linef("  capabilities  received %s", dash(strings.Join(n.CapsReceived, ", ")))
	p.linef("  updates       %s received", number(n.InUpdates))
	p.linef("  end of RIB    %s", yesNo(n.EndOfRIB, "received", "not received yet"))
	p.linef("  lag           %s changes on their way to the RIB, longest wait since start %.3f s", number(n.QueueDepth), n.WorstLag)
	for _, note := range n.Notes {
		p.linef("  ! %s", note)
	}
}

func policy(name, what string) string {
	if name == "" {
		return "no policy: nothing is " + what + " (RFC 8212)"
	}
	return "policy " + name
}

func onOff(b bool) string { return yesNo(b, "on", "off") }

func yesNo(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
