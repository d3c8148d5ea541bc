package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

func (c *ctl) showFIB() *cobra.Command {
	var longer, count bool
	var port, nextHop, from string
	cmd := &cobra.Command{
		Use:   "fib [ADDRESS | PREFIX]",
		Short: "Where packets go: prefix, next hops, port, rewrite, source, age",
		Long: "Shows the FIB: all of it, the entry that forwards ADDRESS, or the entry of PREFIX.\n" +
			"backup is the next hop of the route that would follow.",
		Args: func(cmd *cobra.Command, args []string) error { return between(0, 1)(cmd, tolerate(args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if count {
				if len(args) > 0 || longer || port+nextHop+from != "" {
					return usagef("--count counts the whole FIB: it goes with no address, prefix or filter")
				}
				return c.fibCount(cmd.Context())
			}
			q := api.FIBQuery{Port: port}
			var err error
			if q.Query, err = selection(cmd, args, longer); err != nil {
				return err
			}
			if q.Source, err = source(from); err != nil {
				return err
			}
			if nextHop != "" {
				if q.NextHop, err = api.ParseAddress(nextHop); err != nil {
					return err
				}
			}
			return c.fib(cmd.Context(), q)
		},
	}
	cmd.Flags().BoolVar(&longer, "longer", false, "PREFIX and all inside it")
	cmd.Flags().BoolVar(&count, "count", false, "only how many prefixes there are, and how full the tables")
	cmd.Flags().StringVar(&nextHop, "next-hop", "", "only entries with the next hop `ADDRESS`")
	c.portFlag(cmd, &port, "only entries that leave by the port `NAME`")
	sourceFlag(cmd, &from, "only entries of the `SOURCE` connected, static, ebgp, ibgp or unknown")
	return cmd
}

func (c *ctl) fib(ctx context.Context, q api.FIBQuery) error {
	client := c.client()
	if c.format == "json" {
		return c.printRows("fib", client.FIBRows(ctx, q))
	}
	p := newPage(c.out)
	heading := !q.Single()
	for e, err := range client.FIB(ctx, q) {
		if err != nil {
			p.Flush()
			return err
		}
		if q.Single() {
			c.fibEntry(p, &e)
			continue
		}
		if heading {
			fibHeading(p)
			heading = false
		}
		c.fibRow(p, &e)
	}
	if heading {
		fibHeading(p)
	}
	return p.Flush()
}

// fibEntry writes one entry in full.
func (c *ctl) fibEntry(p *page, e *api.FIBEntry) {
	from := string(e.Source)
	if e.Peer.IsValid() {
		from += " " + e.Peer.String()
	}
	if e.PeerDescription != "" {
		from += " (" + e.PeerDescription + ")"
	}
	p.linef("%s  from %s  age %s", e.Prefix, from, c.age(e.Since))
	switch e.Action {
	case api.ActionBlackhole:
		p.linef("  blackhole: packets are dropped in silence")
	case api.ActionUnreachable:
		p.linef("  unreachable: packets are dropped, the sender is told by ICMP")
	case api.ActionLocal:
		p.linef("  local: an address of port %s, packets go to the host", via(e.NextHops))
	case api.ActionGlean:
		p.linef("  connected to port %s: the destination is the next hop (routerctl show neighbor)", via(e.NextHops))
	default:
		t := &table{}
		for _, h := range e.NextHops {
			t.add("next hop", h.Address.String(), "port "+dash(h.Port), rewrite(h), string(h.State))
		}
		for _, h := range e.Backups {
			t.add("backup", h.Address.String(), "port "+dash(h.Port), rewrite(h), string(h.State))
		}
		if len(t.rows) > 0 {
			t.write(p, "  ")
		}
	}
	if e.Stale {
		p.linef("  ! %s", staleNote)
	}
}

const staleNote = "stale: not learned again since routerd restarted; goes at End-of-RIB or its timeout"

func rewrite(h api.NextHop) string {
	if h.DstMAC == "" {
		return "rewrite not known yet"
	}
	return "rewrite " + h.DstMAC + " <- " + h.SrcMAC
}

var fibWidths = []int{18, 9, 15, 8, 10, 6, 0}

func fibHeading(p *page) {
	p.row(fibWidths, "prefix", "source", "next hop", "port", "state", "age", "rewrite")
}

// fibRow writes one entry as a line of the table, and a line for each further next hop.
func (c *ctl) fibRow(p *page, e *api.FIBEntry) {
	last := ""
	if e.Stale {
		last = "! stale, not learned again yet"
	}
	age := c.age(e.Since)
	if e.Action != api.ActionForward || len(e.NextHops) == 0 {
		word := string(e.Action)
		if e.Action == api.ActionGlean {
			word = "connected"
		}
		p.row(fibWidths, e.Prefix.String(), string(e.Source), word, dash(via(e.NextHops)), "-", age, dash(last))
		return
	}
	for i, h := range e.NextHops {
		mac := "-"
		if h.DstMAC != "" {
			mac = h.DstMAC + " <- " + h.SrcMAC
		}
		if i > 0 {
			p.row(fibWidths, "", "", h.Address.String(), h.Port, dash(string(h.State)), "", mac)
			continue
		}
		if last != "" {
			mac = fmt.Sprintf("%s  %s", mac, last)
		}
		p.row(fibWidths, e.Prefix.String(), string(e.Source), h.Address.String(), dash(h.Port), dash(string(h.State)), age, mac)
	}
}

func (c *ctl) fibCount(ctx context.Context) error {
	n, err := c.client().FIBCounts(ctx)
	if err != nil {
		return err
	}
	return c.print(n, func(p *page) {
		p.linef("connected %s   static %s   ebgp %s   ibgp %s   stale %s   total %s",
			number(n.Connected), number(n.Static), number(n.EBGP), number(n.IBGP), number(n.Stale), number(n.Total))
		p.linef("table %s, extended groups %s, next hops %s, next-hop groups %s", megabytes(n.TableOctets),
			usage(n.ExtendedGroups), usage(n.NextHops), usage(n.NextHopGroups))
		p.linef("%s", c.audit(n.Audit))
		if n.Stale > 0 {
			p.linef("! %s stale: not learned again since routerd restarted; they go at End-of-RIB or its timeout", number(n.Stale))
		}
		if n.Failed == 0 {
			return
		}
		p.linef("! %s not in the FIB, although they should be:", number(n.Failed))
		t := newTable("prefix", "reason")
		for _, f := range n.Failures {
			t.add(f.Prefix.String(), f.Reason)
		}
		t.write(p, "  ")
		if more := n.Failed - len(n.Failures); more > 0 {
			p.linef("  and %s more (routerctl show route --not-in-fib)", number(more))
		}
	})
}

func (c *ctl) audit(a api.Audit) string {
	switch {
	case a.Last.IsZero() && a.Divergences == 0:
		return fmt.Sprintf("audit: first pass running, %s compared, no divergence", number(a.Checked))
	case a.Divergences == 0:
		return fmt.Sprintf("audited %s: no divergence", c.ago(a.Last))
	}
	return fmt.Sprintf("audited %s: %s divergences found and repaired, the last %s",
		c.ago(a.Last), number(a.Divergences), c.ago(a.LastFound))
}

func usage(u api.Usage) string { return number(u.Used) + " of " + number(u.Max) }

func megabytes(octets uint64) string { return fmt.Sprintf("%.1f MB", float64(octets)/1e6) }
