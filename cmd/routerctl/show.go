package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

func (c *ctl) show() *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: "Show what routerd does and why"}
	cmd.AddCommand(c.showFIB(), c.showRoute(), c.showBGP(), c.showPort(), c.showNeighbor(), c.showDrops(), c.showStatus())
	return group(cmd)
}

// tolerate drops a leading "for" from args: show route for 8.8.8.8 is how BIRD asks.
func tolerate(args []string) []string {
	if len(args) > 0 && args[0] == "for" {
		return args[1:]
	}
	return args
}

// selection reads the [ADDRESS | PREFIX] and --longer of show fib and show route.
func selection(cmd *cobra.Command, args []string, longer bool) (api.Query, error) {
	args = tolerate(args)
	if err := between(0, 1)(cmd, args); err != nil {
		return api.Query{}, err
	}
	q := api.Query{Longer: longer}
	var err error
	switch {
	case len(args) == 0:
		return q, nil
	case strings.Contains(args[0], "/"):
		q.Prefix, err = api.ParsePrefix(args[0])
	case longer:
		return q, usagef("--longer goes with a prefix, not with the address %s", args[0])
	default:
		q.Address, err = api.ParseAddress(args[0])
	}
	return q, err
}

// source checks the value of a --source.
func source(s string) (api.Source, error) {
	for _, known := range api.Sources {
		if string(known) == s || s == "" {
			return api.Source(s), nil
		}
	}
	return "", usagef("source %q: want one of %s", s, joined(api.Sources))
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// via names the next hops of a route: addresses, and the port they share.
func via(hops []api.NextHop) string {
	var addrs []string
	port := ""
	for i, h := range hops {
		if i == 0 {
			port = h.Port
		} else if port != h.Port {
			port = ""
		}
	}
	for _, h := range hops {
		switch {
		case !h.Address.IsValid():
			addrs = append(addrs, h.Port)
		case port == "" && h.Port != "":
			addrs = append(addrs, h.Address.String()+" ("+h.Port+")")
		default:
			addrs = append(addrs, h.Address.String())
		}
	}
	s := strings.Join(addrs, ", ")
	if port != "" && len(hops) > 0 && hops[0].Address.IsValid() {
		s += " (port " + port + ")"
	}
	return s
}

// completeTime bounds what completing a word may cost.
const completeTime = 200 * time.Millisecond

// complete offers the names that list finds in the running routerd.
func (c *ctl) complete(list func(context.Context, *api.Client) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
		defer cancel()
		return list(ctx, c.client()), cobra.ShellCompDirectiveNoFileComp
	}
}

// portNames completes the name of a port.
func portNames(ctx context.Context, client *api.Client) []string {
	ports, _ := client.Ports(ctx, "")
	var names []string
	for _, p := range ports.Ports {
		names = append(names, p.Name+"\t"+p.Description)
	}
	return names
}

// fixed completes the values of a flag that has few.
func fixed(cmd *cobra.Command, flag string, values ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// portFlag adds --port, which completes to the router's ports.
func (c *ctl) portFlag(cmd *cobra.Command, port *string, usage string) {
	cmd.Flags().StringVar(port, "port", "", usage)
	must(cmd.RegisterFlagCompletionFunc("port", c.complete(portNames)))
}

// sourceFlag adds --source.
func sourceFlag(cmd *cobra.Command, value *string, usage string) {
	cmd.Flags().StringVar(value, "source", "", usage)
	fixed(cmd, "source", strings.Split(joined(api.Sources), ", ")...)
}

// must fails on what only a wrong program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
