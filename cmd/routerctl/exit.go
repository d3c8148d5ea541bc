package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"routerd/config"
	"routerd/control/api"
)

// Exit codes of routerctl.
const (
	exitOK          = 0
	exitFailed      = 1 // routerd refused or failed
	exitUsage       = 2 // wrong command line
	exitConfig      = 3 // configuration invalid
	exitUnreachable = 4 // routerd not reachable
	exitNotFound    = 5 // what was asked for does not exist
)

func exitCode(err error) int {
	_, usage := errors.AsType[usageError](err)
	_, invalid := errors.AsType[config.Errors](err)
	switch {
	case err == nil:
		return exitOK
	case usage, errors.Is(err, api.ErrBadRequest):
		return exitUsage
	case invalid, errors.Is(err, api.ErrConfigInvalid):
		return exitConfig
	case errors.Is(err, api.ErrUnreachable):
		return exitUnreachable
	case errors.Is(err, api.ErrNotFound):
		return exitNotFound
	}
	return exitFailed
}

// message is err as the operator reads it. The errors of a configuration stand by
// themselves, each with its place in the file.
func message(err error) string {
	if exitCode(err) == exitConfig {
		return err.Error()
	}
	return "routerctl: " + err.Error()
}

// usageError is a wrong command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// exactly is cobra.ExactArgs with a usageError.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// between is cobra.RangeArgs with a usageError.
func between(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || len(args) > high {
			return usagef("%q takes %s: usage: %s", cmd.CommandPath(), arguments(low, high), cmd.UseLine())
		}
		return nil
	}
}

func arguments(low, high int) string {
	switch {
	case high == 0:
		return "no argument"
	case low == high && low == 1:
		return "one argument"
	case low == 0 && high == 1:
		return "at most one argument"
	}
	return fmt.Sprintf("%d to %d arguments", low, high)
}

// group makes cmd a word that needs another behind it, and says which there are.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s\n%s", "a command is missing", strings.TrimRight(cmd.UsageString(), "\n"))
		}
		var names, begin []string
		for _, sub := range cmd.Commands() {
			if !sub.IsAvailableCommand() {
				continue
			}
			names = append(names, sub.Name())
			if strings.HasPrefix(sub.Name(), args[0]) {
				begin = append(begin, sub.Name())
			}
		}
		slices.Sort(names)
		if len(begin) > 1 {
			return usagef("%q after %q may be %s", args[0], cmd.CommandPath(), strings.Join(begin, " or "))
		}
		return usagef("unknown command %q after %q: there are %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
	return cmd
}
