package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

func (c *ctl) showStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Both processes, the running configuration, health",
		Args:  exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := c.client().Status(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(st, func(p *page) { c.status(p, st) })
		},
	}
}

func (c *ctl) status(p *page, st api.Status) {
	who := dash(st.Hostname)
	if st.AS != 0 {
		who += fmt.Sprintf(", AS %d, router id %s", st.AS, st.RouterID)
	}
	p.linef("routerd %s on %s", st.Version, who)
	p.linef("  control        pid %d, up %s", st.PID, c.age(st.Started))
	if d := st.Dataplane; d.PID == 0 {
		p.linef("  forwarding     not running, restarted %d times", d.Restarts)
	} else {
		p.linef("  forwarding     pid %d, up %s, %d workers, idle %s, restarted %d times", d.PID, c.age(d.Started), len(d.Workers), d.Idle, d.Restarts)
	}
	by := ""
	if st.Config.AppliedBy != "" {
		by = " by " + st.Config.AppliedBy
	}
	p.linef("  configuration  revision %d of %s, applied %s%s", st.Config.Revision, st.Config.Path, c.ago(st.Config.Applied), by)
	p.linef("  ports          %d of %d up", st.PortsUp.Used, st.PortsUp.Max)
	p.linef("  bgp            %d of %d sessions established", st.Sessions.Used, st.Sessions.Max)
	p.linef("  fib            %s routes, %s stale, %s failed", number(st.FIBRoutes), number(st.FIBStale), number(st.FIBFailed))
	p.linef("  healthy        %s", verdict(st.Unhealthy))
	p.linef("  ready          %s", verdict(st.NotReady))
	for _, w := range st.Warnings {
		p.linef("  ! %s", w)
	}
	p.linef("")
	t := newTable("worker", "cpu", "rx packets", "tx packets", "dropped packets", "punted packets", "rounds", "busy")
	for _, w := range st.Dataplane.Workers {
		busy := "-"
		if w.Rounds > 0 {
			busy = fmt.Sprintf("%.1f %%", 100*float64(w.BusyRounds)/float64(w.Rounds))
		}
		t.add(strconv.Itoa(w.ID), cpu(w.CPU), number(w.InPkts), number(w.OutPkts), number(w.Dropped), number(w.Punted), number(w.Rounds), busy)
	}
	t.write(p, "")
}

func verdict(wrong []string) string {
	if len(wrong) == 0 {
		return "yes"
	}
	return "no: " + strings.Join(wrong, "; ")
}
