//go:build linux

package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// BIRD is a BIRD 2 routing daemon in a namespace.
type BIRD struct {
	*Process
	socket string
}

// StartBIRD starts BIRD with a configuration and waits until it answers.
func (n *Namespace) StartBIRD(ctx context.Context, name, config string) (*BIRD, error) {
	file := n.lab.Path(name + ".conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return nil, err
	}
	socket := n.lab.Path(name + ".ctl")
	p, err := n.Start(name, "bird", "-f", "-c", file, "-s", socket)
	if err != nil {
		return nil, err
	}
	b := &BIRD{Process: p, socket: socket}
	return b, Await(ctx, name+" to answer", func() error {
		if p.ended() {
			return Never(fmt.Errorf("it ended: %v\n%s", p.err, p.Tail()))
		}
		_, err := b.Query("show status")
		return err
	})
}

// Query runs one birdc command and returns its output.
func (b *BIRD) Query(command string) (string, error) {
	out, err := exec.Command("birdc", "-s", b.socket, command).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("birdc %s: %w: %s", command, err, out)
	}
	return string(out), nil
}
