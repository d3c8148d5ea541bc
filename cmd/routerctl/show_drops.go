package main

import (
	"github.com/spf13/cobra"
)

func (c *ctl) showDrops() *cobra.Command {
	var nonzero bool
	var port string
	cmd := &cobra.Command{
		Use:   "drops",
		Short: "Why packets are dropped: one reason a line, with its meaning",
		Args:  exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.client().Drops(cmd.Context(), port, nonzero)
			if err != nil {
				return err
			}
			return c.print(d, func(p *page) {
				t := newTable("reason", "packets", "last", "meaning")
				for _, e := range d.Drops {
					t.add(e.Reason, number(e.Packets), c.ago(e.Last), e.Meaning)
				}
				t.write(p, "")
			})
		},
	}
	cmd.Flags().BoolVar(&nonzero, "nonzero", false, "only reasons that happened")
	c.portFlag(cmd, &port, "only packets that arrived on the port `NAME`")
	return cmd
}
