package bgp

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/osrg/gobgp/v4/api"

	"routerd/config"
)

// plan is a configuration made ready: everything that could be wrong in it has been
// looked at.
type plan struct {
	config   *config.Config
	base     base
	self     identity
	peers    map[netip.Addr]peer
	imports  map[netip.Addr]*rules // nil where there is no policy
	exports  map[netip.Addr]*rules
	policies *api.SetPoliciesRequest
}

func prepare(c *config.Config) (*plan, error) {
	p := &plan{config: c, peers: make(map[netip.Addr]peer), imports: make(map[netip.Addr]*rules), exports: make(map[netip.Addr]*rules)}
	if c.BGP == nil {
		return p, nil
	}
	port := c.BGP.ListenPort
	if port == 0 {
		port = defaultPort
	}
	p.base = base{as: c.Router.AS, id: c.Router.ID, port: port}
	p.self = identity{as: c.Router.AS, id: c.Router.ID, addresses: make(map[netip.Addr]bool)}
	for _, port := range c.Ports {
		for _, a := range port.Addresses {
			p.self.addresses[a.Addr()] = true
		}
	}
	var errs []error
	policies := make(map[string]*rules)
	for _, policy := range c.Policies {
		r, err := compile(policy)
		if err != nil {
			errs = append(errs, err)
		}
		policies[policy.Name] = r
	}
	for _, n := range c.BGP.Neighbors {
		password, err := readPassword(n.PasswordFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("neighbor %s: %w", n.Address, err))
		}
		for _, name := range []string{n.Import, n.Export} {
			if _, ok := policies[name]; name != "" && !ok {
				errs = append(errs, fmt.Errorf("neighbor %s: policy %q is not defined", n.Address, name))
			}
		}
		p.imports[n.Address], p.exports[n.Address] = policies[n.Import], policies[n.Export]
		p.peers[n.Address] = peer{address: n.Address, as: n.AS, port: n.Port, passive: n.Passive,
			holdTime: n.HoldTime, password: password, ttlSecurity: n.TTLSecurity, multihop: n.Multihop,
			restartTime: c.BGP.GracefulRestart}
	}
	own := slices.SortedFunc(maps.Keys(p.self.addresses), netip.Addr.Compare)
	p.policies = enginePolicies(c, own)
	return p, errors.Join(errs...)
}

// readPassword reads a TCP-MD5 key (RFC 2385). White space around it is no part of it.
func readPassword(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	password := strings.TrimSpace(string(raw))
	if password == "" {
		return "", fmt.Errorf("password_file %s is empty", file)
	}
	if len(password) > 80 {
		return "", fmt.Errorf("password_file %s holds %d bytes; TCP-MD5 takes 80 at most", file, len(password))
	}
	return password, nil
}

func (p *plan) neighbor(a netip.Addr) (config.Neighbor, bool) {
	for _, n := range neighborsOf(p.config) {
		if n.Address == a {
			return n, true
		}
	}
	return config.Neighbor{}, false
}

func (p *plan) policy(name string) config.Policy {
	for _, policy := range p.config.Policies {
		if policy.Name == name {
			return policy
		}
	}
	return config.Policy{}
}

// importView is all that decides what GoBGP keeps of n's routes to pass on.
func (p *plan) importView(n config.Neighbor) any {
	list, all := exportable(p.config)
	return []any{p.policy(n.Import), list, all, p.self.addresses}
}

// exportView is all that decides what n is sent.
func (p *plan) exportView(n config.Neighbor) any {
	return []any{p.policy(n.Export), n.Prepend}
}
