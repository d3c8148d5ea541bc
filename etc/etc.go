// Package etc holds the files that a service manager starts routerd by, so that
// `routerd service install` installs the very files that packages ship.
package etc

import _ "embed"

// Program is the path of routerd in the files below.
const Program = "/usr/local/sbin/routerd"

// SystemdUnit is the unit for systemd(1).
//
//go:embed systemd/routerd.service
var SystemdUnit string

// RCScript is the script for FreeBSD's rc(8).
//
//go:embed rc.d/routerd
var RCScript string
