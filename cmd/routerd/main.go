// Command routerd is the router: started plainly it is the control process, which reads
// routerd.conf, speaks BGP and fills the FIB; `routerd dataplane`, which the control
// process starts, is the forwarding process.
//
// Only here are the parts of the router assembled: package main of this folder knows
// every other package, and they know each other as little as the design allows.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"routerd/config"
)

// Exit codes, the same as routerctl's.
const (
	exitFailed        = 1
	exitUsage         = 2
	exitConfigInvalid = 3
)

// version is set by the build.
var version = "development"

// usageError marks an error of the command line.
type usageError struct{ error }

func main() {
	// What is written to a log that nobody reads any more must not kill a process.
	signal.Ignore(syscall.SIGPIPE)
	err := command().Execute()
	if err == nil {
		return
	}
	var invalid config.Errors
	var usage usageError
	switch {
	case errors.As(err, &invalid):
		fmt.Fprintln(os.Stderr, invalid.Report("; nothing was started"))
		os.Exit(exitConfigInvalid)
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "routerd: %v\n", err)
		os.Exit(exitUsage)
	}
	fmt.Fprintf(os.Stderr, "routerd: %v\n", err)
	os.Exit(exitFailed)
}

func command() *cobra.Command {
	var o controlOptions
	var check, showVersion bool
	root := &cobra.Command{
		Use:   "routerd [-n [FILE]]",
		Short: "A router: forwards IPv4 between NIC rings on routes learned over BGP",
		Long: "routerd reads routerd.conf, starts the forwarding process or attaches to the one that runs,\n" +
			"speaks BGP and fills the FIB. SIGHUP applies the file again; SIGTERM stops both processes\n" +
			"and gives the interfaces back to the kernel.",
		Args: func(cmd *cobra.Command, args []string) error {
			if check && len(args) == 1 {
				o.configPath = args[0]
				return nil
			}
			return noArgs(cmd, args)
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case showVersion:
				fmt.Printf("routerd %s %s %s/%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return nil
			case check:
				return checkConfig(o.configPath)
			}
			return runControl(cmd.Context(), o, logger(o.debug))
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.Flags()
	f.StringVarP(&o.configPath, "config", "c", defaultConfigPath(), "configuration file")
	f.BoolVarP(&check, "check", "n", false, "check the configuration and exit")
	f.BoolVarP(&showVersion, "version", "V", false, "print the version and exit")
	p := root.PersistentFlags()
	p.StringVar(&o.runDir, "run-dir", defaultRunDir(), "directory for sockets, lock and journals")
	p.BoolVarP(&o.debug, "debug", "d", false, "log at debug level")
	root.AddCommand(dataplaneCommand(&o), serviceCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	return nil
}

// checkConfig is routerd -n.
func checkConfig(path string) error {
	c, _, err := config.Load(path)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings() {
		fmt.Fprintf(os.Stderr, "warning: %s\n", w)
	}
	neighbors := 0
	if c.BGP != nil {
		neighbors = len(c.BGP.Neighbors)
	}
	fmt.Printf("%s: valid: ports %d, static routes %d, BGP neighbors %d\n", path, len(c.Ports), len(c.Routes), neighbors)
	return nil
}

func logger(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// signals returns a context that ends with SIGTERM or SIGINT, and a channel of SIGHUPs.
func signals(ctx context.Context) (context.Context, context.CancelFunc, <-chan os.Signal) {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return ctx, cancel, hup
}

func defaultConfigPath() string {
	if runtime.GOOS == "freebsd" {
		return "/usr/local/etc/routerd/routerd.conf"
	}
	return "/etc/routerd/routerd.conf"
}

func defaultRunDir() string {
	if runtime.GOOS == "freebsd" {
		return "/var/run/routerd"
	}
	return "/run/routerd"
}

func buildVersion() string {
	if version != "development" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return version + "-" + s.Value[:12]
			}
		}
	}
	return version
}
