package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"routerd/config"
	"routerd/control/api"
)

// defaultFile is the configuration that routerd starts with unless told otherwise.
func defaultFile() string {
	if runtime.GOOS == "linux" {
		return "/etc/routerd/routerd.conf"
	}
	return "/usr/local/etc/routerd/routerd.conf"
}

func (c *ctl) config() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check, show and change the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check [FILE]",
			Short: "Check FILE, or routerd's default file, without a running routerd",
			Args:  between(0, 1),
			RunE:  func(_ *cobra.Command, args []string) error { return c.check(args) },
		},
		&cobra.Command{
			Use:   "show",
			Short: "Show the running configuration in canonical form",
			Args:  exactly(0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				running, err := c.client().Config(cmd.Context())
				if err != nil {
					return err
				}
				return c.print(running, func(p *page) { p.WriteString(running.Text) })
			},
		},
		&cobra.Command{
			Use:   "diff [FILE]",
			Short: "Show what applying FILE, or routerd's own file, would change and interrupt",
			Args:  between(0, 1),
			RunE:  func(cmd *cobra.Command, args []string) error { return c.diff(cmd, args) },
		},
		&cobra.Command{
			Use:   "apply [FILE]",
			Short: "Make FILE, or routerd's own file, the running configuration",
			Args:  between(0, 1),
			RunE:  func(cmd *cobra.Command, args []string) error { return c.apply(cmd, args) },
		},
	)
	return group(cmd)
}

// check parses a file here; no routerd has to run.
func (c *ctl) check(args []string) error {
	file := defaultFile()
	if len(args) > 0 {
		file = args[0]
	}
	var parsed *config.Config
	var err error
	if file == "-" {
		var src api.ConfigSource
		if src, err = c.source(args); err != nil {
			return err
		}
		parsed, err = config.Parse(src.Name, src.Text)
	} else {
		parsed, _, err = config.Load(file)
	}
	list, invalid := errors.AsType[config.Errors](err)
	if err != nil && !invalid {
		return err
	}
	v := struct {
		File     string            `json:"file"`
		Valid    bool              `json:"valid"`
		Errors   []api.ConfigError `json:"config-errors"`
		Warnings []string          `json:"warnings"`
	}{file, !invalid, []api.ConfigError{}, []string{}}
	for _, e := range list {
		v.Errors = append(v.Errors, api.ConfigError(e))
	}
	if parsed != nil {
		v.Warnings = append(v.Warnings, parsed.Warnings()...)
	}
	if c.format == "text" {
		for _, w := range v.Warnings {
			c.notef("warning: %s", w)
		}
	}
	if c.format == "json" || !invalid {
		if err := c.print(v, func(p *page) { p.linef("%s: valid: %s", file, contents(parsed)) }); err != nil {
			return err
		}
	}
	return err
}

// contents counts what is in a configuration, so that a wrong file catches the eye.
func contents(c *config.Config) string {
	neighbors := 0
	if c.BGP != nil {
		neighbors = len(c.BGP.Neighbors)
	}
	return fmt.Sprintf("ports %d, static routes %d, policies %d, BGP neighbors %d",
		len(c.Ports), len(c.Routes), len(c.Policies), neighbors)
}

// source is the configuration an operator names: a file that is read here, with the
// operator's own rights, - for standard input, or nothing for routerd's own file.
func (c *ctl) source(args []string) (api.ConfigSource, error) {
	if len(args) == 0 {
		return api.ConfigSource{}, nil
	}
	in, name := c.in, "standard input"
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return api.ConfigSource{}, err
		}
		defer f.Close()
		in, name = f, filepath.Base(args[0])
	}
	text, err := io.ReadAll(io.LimitReader(in, config.MaxSize+1))
	switch {
	case err != nil:
		return api.ConfigSource{}, fmt.Errorf("%s: %w", name, err)
	case len(text) > config.MaxSize:
		return api.ConfigSource{}, fmt.Errorf("%s: %w", name, config.ErrTooLarge)
	case len(text) == 0:
		return api.ConfigSource{}, fmt.Errorf("%s is empty: it would leave routerd without ports and routes", name)
	}
	return api.ConfigSource{Name: name, Text: text}, nil
}

func (c *ctl) diff(cmd *cobra.Command, args []string) error {
	src, err := c.source(args)
	if err != nil {
		return err
	}
	plan, err := c.client().PlanConfig(cmd.Context(), src)
	if err != nil {
		return err
	}
	return c.print(plan, func(p *page) {
		p.WriteString(plan.Diff)
		if len(plan.Changes) == 0 {
			c.notef("%s: no difference to what runs", plan.File)
			return
		}
		changes(p, plan.Changes)
	})
}

func (c *ctl) apply(cmd *cobra.Command, args []string) error {
	src, err := c.source(args)
	if err != nil {
		return err
	}
	applied, err := c.client().ApplyConfig(cmd.Context(), src)
	if err != nil {
		return err
	}
	for _, n := range applied.Notes {
		c.notef("note: %s", n)
	}
	return c.print(applied, func(p *page) {
		changes(p, applied.Changes)
		if len(applied.Changes) == 0 {
			p.linef("nothing to change: revision %d runs", applied.Revision)
			return
		}
		p.linef("applied as revision %d by %s", applied.Revision, applied.By)
	})
}

// changes writes a plan, one change a line.
func changes(p *page, list []string) {
	head := "plan:"
	for _, line := range list {
		p.linef("%-5s %s", head, line)
		head = ""
	}
}
