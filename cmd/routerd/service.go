package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kardianos/service"
	"github.com/spf13/cobra"

	"routerd/etc"
)

// serviceCommand lets the system's service manager run routerd.
func serviceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "service",
		Short: "Install routerd as a service of the system, and control that",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{errors.New("service: say install, uninstall, start, stop, restart or status")}
		},
	}
	for _, action := range []struct{ name, short string }{
		{"install", "Install and enable the service"},
		{"uninstall", "Disable and remove the service"},
		{"start", "Start the service"},
		{"stop", "Stop the service"},
		{"restart", "Stop and start the service"},
	} {
		c.AddCommand(&cobra.Command{Use: action.name, Short: action.short, Args: noArgs,
			RunE: func(*cobra.Command, []string) error {
				s, err := systemService()
				if err == nil {
					err = service.Control(s, action.name)
				}
				if err != nil {
					return fmt.Errorf("service %s: %w", action.name, err)
				}
				return nil
			}})
	}
	c.AddCommand(&cobra.Command{Use: "status", Short: "Say whether the service runs", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := systemService()
			if err != nil {
				return fmt.Errorf("service status: %w", err)
			}
			status, err := s.Status()
			if err != nil {
				return fmt.Errorf("service status: %w", err)
			}
			if status != service.StatusRunning {
				return errors.New("service is not running; start it with: routerd service start")
			}
			fmt.Println("service is running")
			return nil
		}})
	return c
}

// systemService describes routerd to the service manager.
func systemService() (service.Service, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	script := func(text string) string { return strings.ReplaceAll(text, etc.Program, exe) }
	return service.New(nil, &service.Config{
		Name:       "routerd",
		Executable: exe,
		Option: service.KeyValue{
			"SystemdScript": script(etc.SystemdUnit),
			"SysvScript":    script(etc.RCScript),
		},
	})
}
