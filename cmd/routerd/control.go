package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"routerd/config"
	"routerd/platform"
)

type controlOptions struct {
	configPath string
	runDir     string
	debug      bool
}

// runControl is the control process: it runs until SIGTERM or SIGINT.
func runControl(ctx context.Context, o controlOptions, log *slog.Logger) error {
	ctx, cancel, hup := signals(ctx)
	defer cancel()
	cfg, _, err := config.Load(o.configPath)
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings() {
		log.Warn("configuration", "file", o.configPath, "warning", w)
	}
	if err := os.MkdirAll(o.runDir, 0o755); err != nil {
		return fmt.Errorf("run directory: %w; name another with --run-dir", err)
	}
	lock, err := platform.NewLock(filepath.Join(o.runDir, "routerd.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()

	r := newRouter(o, log)
	if err := r.start(ctx, cfg); err != nil {
		if ctx.Err() != nil {
			log.Info("routerd stopped before it was ready")
			return nil
		}
		return err
	}
	notify("READY=1")
	log.Info("routerd ready", "config", o.configPath, "ports", len(cfg.Ports), "version", buildVersion())
	r.run(ctx, hup)
	notify("STOPPING=1")
	r.stop()
	log.Info("routerd stopped")
	return nil
}
