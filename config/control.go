package config

import "path"

// DefaultSocket is the control socket of a configuration that names none. The path
// is good on every system: /var/run is /run where that exists.
const DefaultSocket = "/var/run/routerd/routerd.sock"

// socketLimit is the longest path of a socket in bytes; FreeBSD's sun_path has 104
// with the closing zero.
const socketLimit = 103

func (d *decoder) control(s *section) {
	if s != nil {
		for _, child := range s.all("socket") {
			d.config.Control = append(d.config.Control, d.socket(child))
		}
	}
	if len(d.config.Control) == 0 {
		d.config.Control = []Socket{{Path: DefaultSocket, Access: AccessFull}}
	}
}

func (d *decoder) socket(s *section) Socket {
	c := Socket{
		Path:   s.label,
		Group:  s.text("group", ""),
		Access: Access(s.word("access", string(AccessFull), string(AccessFull), string(AccessRead))),
	}
	d.printable(s.name, "socket", c.Path)
	switch {
	case !path.IsAbs(c.Path) || path.Clean(c.Path) != c.Path || c.Path == "/":
		d.found.add(s.name, "socket %q must be an absolute path without . and ..", printable(c.Path))
	case len(c.Path) > socketLimit:
		d.found.add(s.name, "socket path is longer than %d bytes", socketLimit)
	}
	if s.has("group") && !namePattern.MatchString(c.Group) {
		d.found.add(s.at("group"), "group %q is no group name", printable(c.Group))
	}
	return c
}
