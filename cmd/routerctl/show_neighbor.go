package main

import (
	"github.com/spf13/cobra"
)

func (c *ctl) showNeighbor() *cobra.Command {
	var port string
	cmd := &cobra.Command{
		Use:   "neighbor",
		Short: "The ARP table: address, MAC, state, age",
		Args:  exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := c.client().Neighbors(cmd.Context(), port)
			if err != nil {
				return err
			}
			return c.print(n, func(p *page) {
				t := newTable("port", "address", "mac", "state", "confirmed", "used", "held packets", "dropped packets")
				for _, e := range n.Neighbors {
					t.add(e.Port, e.Address.String(), dash(e.MAC), string(e.State), c.ago(e.Confirmed), c.ago(e.Used),
						number(e.Held), number(e.Dropped))
				}
				t.write(p, "")
			})
		},
	}
	c.portFlag(cmd, &port, "only neighbors on the port `NAME`")
	return cmd
}
