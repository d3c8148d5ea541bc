package platform

import (
	"fmt"
	"log/slog"
	"strings"

	"routerd/nmring"
)

// Options configure a System.
type Options struct {
	RunDir  string // directory for the journals of what must be undone
	Buffers int    // packet buffers of all ports together, 0: 16,384
	Log     *slog.Logger
}

// OpenOptions say how to open a port.
type OpenOptions struct {
	Queues   int // receive and transmit queue pairs, 0: as many as the device has
	Slots    int // of each ring, 0: 1,024
	Settings nmring.Settings
	Events   nmring.Events
}

// Open takes over the device, such as "xdp:eth0". On error the device is as it was.
func (s *System) Open(device string, opt OpenOptions) (nmring.Port, error) {
	driver, name, found := strings.Cut(device, ":")
	var port nmring.Port
	var err error
	switch {
	case !found || name == "":
		err = fmt.Errorf("device %q: a device is named by its driver and a name, such as \"xdp:eth0\"", device)
	case driver == "xdp":
		port, err = s.openXDP(name, opt)
	case driver == "pci", driver == "netmap":
		err = fmt.Errorf("device %q: driver %q is not part of this version, which has %s", device, driver, drivers)
	default:
		err = fmt.Errorf("device %q: there is no driver %q; this version has %s", device, driver, drivers)
	}
	return port, err
}
