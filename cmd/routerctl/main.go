// Command routerctl asks and changes a running routerd through its control socket.
//
// Data goes to standard output, messages to standard error. One process makes one
// or a few requests and ends; exit codes are in exit.go and routerctl(1).
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"routerd/control/api"
)

// version is set by the linker.
var version = ""

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, time.Now)) }

// run is routerctl with all it takes from its process handed in.
func run(args []string, in io.Reader, out, messages io.Writer, now func() time.Time) int {
	c := &ctl{in: in, out: out, messages: messages, now: now}
	root := c.root()
	root.SetArgs(args)
	err := root.Execute()
	if err != nil {
		fmt.Fprintln(messages, cleanLines(message(err)))
	}
	return exitCode(err)
}

// ctl is one invocation.
type ctl struct {
	in       io.Reader
	out      io.Writer
	messages io.Writer
	now      func() time.Time

	socket string
	format string
}

// client returns a client of the chosen socket.
func (c *ctl) client() *api.Client { return api.NewClient(c.socket) }

// notef tells the operator something that is no data.
func (c *ctl) notef(format string, args ...any) {
	fmt.Fprintln(c.messages, clean(fmt.Sprintf(format, args...)))
}

func (c *ctl) root() *cobra.Command {
	cobra.EnablePrefixMatching = true
	root := &cobra.Command{
		Use:           "routerctl",
		Short:         "Ask and change a running routerd",
		Long:          "routerctl asks and changes a running routerd through its control socket.\nCommands may be shortened as long as they stay unambiguous: routerctl sh f 8.8.8.8",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if c.format != "text" && c.format != "json" {
				return usagef("output %q: want text or json", c.format)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVarP(&c.socket, "socket", "s", api.DefaultSocket(), "control socket of routerd")
	root.PersistentFlags().StringVarP(&c.format, "output", "o", "text", "text or json")
	fixed(root, "output", "text", "json")
	root.SetOut(c.out)
	root.SetErr(c.messages)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v (%s --help)", err, cmd.CommandPath())
	})
	group(root)
	root.AddCommand(c.show(), c.config(), c.version())
	return root
}

func (c *ctl) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of routerctl; show status has that of routerd",
		Args:  exactly(0),
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"software-version"`
				Go      string `json:"go-version"`
				System  string `json:"system"`
			}{versionOf(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return c.print(v, func(p *page) { p.linef("routerctl %s (%s, %s)", v.Version, v.Go, v.System) })
		},
	}
}

// versionOf returns the linked version, or what the Go toolchain noted.
func versionOf() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}
