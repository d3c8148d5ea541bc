package config

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

func (d *decoder) router(s *section) {
	if s == nil {
		return
	}
	r := &d.config.Router
	r.Name = s.text("name", "")
	if s.has("name") && !hostPattern.MatchString(r.Name) {
		d.found.add(s.at("name"), "name %q is no host name", printable(r.Name))
	}
	if s.has("as") {
		r.AS = d.autonomousSystem(s)
	}
	if !s.has("id") {
		return
	}
	r.ID = netip.IPv4Unspecified()
	if id, ok := d.address(s.at("id"), "id", s.text("id", "0.0.0.0")); ok {
		if id.IsUnspecified() {
			d.found.add(s.at("id"), "id can not be 0.0.0.0 (RFC 6286)")
		}
		r.ID = id
	}
}

// defaultRouterID gives a router without an id the numerically highest port address.
func (d *decoder) defaultRouterID() {
	r := &d.config.Router
	if r.ID.IsValid() {
		return
	}
	for _, p := range d.config.Ports {
		for _, a := range p.Addresses {
			if !r.ID.IsValid() || r.ID.Less(a.Addr()) {
				r.ID = a.Addr()
			}
		}
	}
}

// autonomousSystem reads the argument "as".
func (d *decoder) autonomousSystem(s *section) uint32 {
	as := uint32(s.number("as", 1, 1, 1<<32-1)) // RFC 7607 reserves 0
	switch as {
	case 23456:
		d.found.add(s.at("as"), "as 23456 is reserved: it stands in for 4-byte AS numbers (RFC 6793)")
	case 65535, 1<<32 - 1:
		d.found.add(s.at("as"), "as %d is reserved (RFC 7300)", as)
	}
	return as
}

const (
	maxWorkers = 64
	maxCPU     = 1023
	maxBuffers = 1 << 24
)

func (d *decoder) dataplane(s *section) {
	p := &d.config.Dataplane
	p.Workers, p.Idle = 1, IdleAdaptive
	if s == nil {
		return
	}
	p.Idle = Idle(s.word("idle", string(IdleAdaptive), string(IdleAdaptive), string(IdleSpin)))
	p.Buffers = int(s.number("buffers", 0, 0, maxBuffers))
	p.Workers = int(s.number("workers", 1, 1, maxWorkers))
	if !s.has("cpus") {
		return
	}
	cpus, ok := d.cpus(s.at("cpus"), s.text("cpus", "0"))
	if !ok {
		return
	}
	if s.has("workers") && p.Workers != len(cpus) {
		d.found.add(s.at("workers"), "workers is %d, but cpus names %d: leave workers out", p.Workers, len(cpus))
	}
	p.CPUs, p.Workers = cpus, len(cpus)
}

// cpus reads a list of CPU numbers and ranges such as "2-5,7".
func (d *decoder) cpus(at hcl.Range, text string) ([]int, bool) {
	var cpus []int
	seen := make(map[int]bool)
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := cpuRange(strings.TrimSpace(part))
		if !ok {
			d.found.add(at, "cpus %q is no list of CPU numbers; write for example \"2-5,7\" (0 to %d)", printable(text), maxCPU)
			return nil, false
		}
		for cpu := first; cpu <= last; cpu++ {
			if seen[cpu] {
				d.found.add(at, "cpus names CPU %d twice", cpu)
				return nil, false
			}
			seen[cpu] = true
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) > maxWorkers {
		d.found.add(at, "cpus names %d CPUs; at most %d workers are possible", len(cpus), maxWorkers)
		return nil, false
	}
	return cpus, true
}

func cpuRange(part string) (first, last int, ok bool) {
	low, high, isRange := strings.Cut(part, "-")
	if !isRange {
		high = low
	}
	a, errLow := strconv.ParseUint(low, 10, 16)
	b, errHigh := strconv.ParseUint(high, 10, 16)
	return int(a), int(b), errLow == nil && errHigh == nil && a <= b && b <= maxCPU
}
