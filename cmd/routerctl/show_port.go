package main

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

func (c *ctl) showPort() *cobra.Command {
	return &cobra.Command{
		Use:               "port [NAME]",
		Short:             "Ports: device, link, speed, losses; one port with its queues",
		Args:              between(0, 1),
		ValidArgsFunction: c.complete(func(ctx context.Context, client *api.Client) []string { return portNames(ctx, client) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			ports, err := c.client().Ports(cmd.Context(), name)
			if err != nil {
				return err
			}
			return c.print(ports, func(p *page) {
				if name == "" {
					portTable(p, ports.Ports)
					return
				}
				c.portDetail(p, ports.Ports[0])
			})
		},
	}
}

// portTable writes one line a port, and its notes below the table.
func portTable(p *page, ports []api.Port) {
	t := newTable("port", "device", "driver", "mode", "link", "queues", "rx pps", "tx pps", "rx Gb/s", "tx Gb/s", "dropped", "discards", "pause")
	for _, port := range ports {
		n := port.Counters
		rates := []string{"-", "-", "-", "-"}
		if r := port.Rates; r.Window > 0 {
			rates = []string{pps(r.InPPS), pps(r.OutPPS), gigabits(r.InBPS), gigabits(r.OutBPS)}
		}
		t.add(port.Name, port.Device, dash(port.Driver), dash(port.Mode), link(port), strconv.Itoa(len(port.Queues)),
			rates[0], rates[1], rates[2], rates[3],
			number(n.Dropped), number(n.InDiscards+n.OutDiscards), number(n.InPause+n.OutPause))
	}
	t.write(p, "")
	for _, port := range ports {
		for _, note := range port.Notes {
			p.linef("  ! %s", note)
		}
	}
}

func (c *ctl) portDetail(p *page, port api.Port) {
	n := port.Counters
	p.linef("%s  %s", port.Name, port.Description)
	p.linef("  device     %s, driver %s, mode %s", port.Device, dash(port.Driver), dash(port.Mode))
	since := ""
	if !port.LastChange.IsZero() {
		since = " for " + c.age(port.LastChange)
	}
	p.linef("  link       %s%s, carrier transitions %s", link(port), since, number(port.Transitions))
	p.linef("  mac        %s", port.MAC)
	p.linef("  mtu        %d bytes", port.MTU)
	p.linef("  addresses  %s", dash(addresses(port.Addresses)))
	p.linef("  dropped    %s packets (routerctl show drops --port %s)", number(n.Dropped), port.Name)
	p.linef("  punted     %s packets to the slow path or the host", number(n.Punted))
	p.linef("  injected   %s packets sent by the slow path or the host", number(n.Injected))
	p.linef("  discards   received %s (lost before routerd), sent %s (transmit ring full)", number(n.InDiscards), number(n.OutDiscards))
	p.linef("  pause      received %s, sent %s frames", number(n.InPause), number(n.OutPause))
	p.linef("")
	t := newTable("queue", "worker", "cpu", "rx packets", "rx bytes", "tx packets", "tx bytes", "rx pps", "tx pps", "rx Gb/s", "tx Gb/s", "dropped", "punted", "discards")
	for _, q := range port.Queues {
		t.add(queueRow(strconv.Itoa(q.ID), strconv.Itoa(q.Worker), cpu(q.CPU), q.Counters, q.Rates)...)
	}
	t.add(queueRow("all", "-", "-", n, port.Rates)...)
	t.write(p, "  ")
	for _, note := range port.Notes {
		p.linef("  ! %s", note)
	}
}

func queueRow(queue, worker, cpu string, n api.Counters, r api.Rates) []string {
	row := []string{queue, worker, cpu, number(n.InPkts), number(n.InOctets), number(n.OutPkts), number(n.OutOctets)}
	if r.Window > 0 {
		row = append(row, pps(r.InPPS), pps(r.OutPPS), gigabits(r.InBPS), gigabits(r.OutBPS))
	} else {
		row = append(row, "-", "-", "-", "-")
	}
	return append(row, number(n.Dropped), number(n.Punted), number(n.InDiscards+n.OutDiscards))
}

// link writes the state of a port's link with its speed.
func link(port api.Port) string {
	switch {
	case port.OperStatus != "up", port.Speed == 0:
		return port.OperStatus
	case port.Speed < 1e9:
		return fmt.Sprintf("%gM up", float64(port.Speed)/1e6)
	}
	return fmt.Sprintf("%gG up", float64(port.Speed)/1e9)
}

func pps(v float64) string { return number(int(v + 0.5)) }

func cpu(n int) string {
	if n < 0 {
		return "any"
	}
	return strconv.Itoa(n)
}

func addresses(list []netip.Prefix) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.String()
	}
	return strings.Join(words, ", ")
}
