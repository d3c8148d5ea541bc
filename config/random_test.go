package config

import (
	"fmt"
	"net/netip"
	"time"

	"pgregory.net/rapid"
)

// configs generates Configs as Parse makes them.
func configs() *rapid.Generator[*Config] {
	return rapid.Custom(func(t *rapid.T) *Config {
		c := &Config{Dataplane: someDataplane(t)}
		c.Router = Router{
			Name: rapid.SampledFrom([]string{"", "edge1", "r-1.example.net"}).Draw(t, "name"),
			AS:   rapid.SampledFrom([]uint32{1, 64500, 65536, 4200000000}).Draw(t, "as"),
			ID:   address(t, "id"),
		}
		c.Ports = somePorts(t)
		c.Routes = someRoutes(t)
		c.PrefixLists = somePrefixLists(t)
		c.Policies = somePolicies(t, c.PrefixLists)
		c.Control = someSockets(t)
		if rapid.Bool().Draw(t, "bgp") {
			c.BGP = someBGP(t, c)
		}
		return c
	})
}

// address is none that somePorts uses.
func address(t *rapid.T, what string) netip.Addr {
	n := rapid.IntRange(0x0b000001, 0x0bffffff).Draw(t, what)
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

func description(t *rapid.T) string {
	return rapid.StringMatching(`[ -~äß→]{0,20}|\$\{x\}|%\{y\}|\$\$\{|"\\`).Draw(t, "description")
}

func several[T any](t *rapid.T, what string, most int, make func(i int) T) []T {
	var list []T
	for i := range rapid.IntRange(0, most).Draw(t, what) {
		list = append(list, make(i))
	}
	return list
}

func someDataplane(t *rapid.T) Dataplane {
	d := Dataplane{
		Workers: rapid.IntRange(1, maxWorkers).Draw(t, "workers"),
		Idle:    rapid.SampledFrom([]Idle{IdleSpin, IdleAdaptive}).Draw(t, "idle"),
		Buffers: rapid.IntRange(0, maxBuffers).Draw(t, "buffers"),
	}
	if rapid.Bool().Draw(t, "pinned") {
		d.CPUs = rapid.SliceOfNDistinct(rapid.IntRange(0, 80), 1, 10, rapid.ID).Draw(t, "cpus")
		d.Workers = len(d.CPUs)
	}
	return d
}

func somePorts(t *rapid.T) []Port {
	return several(t, "ports", 4, func(i int) Port {
		p := Port{
			Name:        fmt.Sprintf("xe%d", i),
			Description: description(t),
			Device:      fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"xdp:eth", "pipe:p", "netmap:ix", "pci:0000:0a:00."}).Draw(t, "device"), i),
			Queues:      rapid.IntRange(1, maxQueues).Draw(t, "queues"),
			MTU:         rapid.SampledFrom([]int{0, minMTU, 1500, maxMTU}).Draw(t, "mtu"),
		}
		bits := rapid.IntRange(16, 30).Draw(t, "bits")
		p.Addresses = several(t, "addresses", 3, func(j int) netip.Prefix {
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + i), 0, byte(1 + j)}), bits)
		})
		for j, a := range p.Addresses {
			if lastAddress(a) == a.Addr() {
				p.Addresses = p.Addresses[:j]
				break
			}
		}
		return p
	})
}

func someRoutes(t *rapid.T) []Route {
	return several(t, "routes", 4, func(i int) Route {
		r := Route{
			Prefix:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i), 0, 0}), rapid.IntRange(16, 32).Draw(t, "bits")),
			Action:   rapid.SampledFrom([]Action{ActionForward, ActionBlackhole, ActionUnreachable}).Draw(t, "action"),
			Distance: rapid.IntRange(1, 255).Draw(t, "distance"),
		}
		if r.Action == ActionForward {
			for _, a := range rapid.SliceOfNDistinct(rapid.ByteRange(1, 250), 1, maxPaths, rapid.ID).Draw(t, "via") {
				r.Via = append(r.Via, netip.AddrFrom4([4]byte{11, 0, 0, a}))
			}
		}
		return r
	})
}

func somePrefixLists(t *rapid.T) []PrefixList {
	return several(t, "lists", 3, func(i int) PrefixList {
		return PrefixList{
			Name: fmt.Sprintf("list-%d", i),
			Prefixes: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) PrefixMatch {
				bits := rapid.IntRange(0, 32).Draw(t, "bits")
				ge := rapid.IntRange(bits, 32).Draw(t, "ge")
				return PrefixMatch{
					Prefix: netip.PrefixFrom(address(t, "prefix"), bits).Masked(),
					MinLen: ge,
					MaxLen: rapid.IntRange(ge, 32).Draw(t, "le"),
				}
			}), 1, 4).Draw(t, "prefixes"),
		}
	})
}

func somePolicies(t *rapid.T, lists []PrefixList) []Policy {
	communities := rapid.SliceOfN(rapid.SampledFrom([]string{"65535:65281", "65535:0", "0:0", "64500:100"}), 0, 3)
	number := rapid.Ptr(rapid.Uint32(), true)
	return several(t, "policies", 3, func(i int) Policy {
		return Policy{Name: fmt.Sprintf("policy_%d", i), Terms: several(t, "terms", 3, func(j int) Term {
			term := Term{
				Name:        fmt.Sprintf("t%d", j),
				Communities: communities.Draw(t, "communities"),
				Accept:      rapid.Bool().Draw(t, "accept"),
			}
			if n := rapid.IntRange(0, len(lists)).Draw(t, "list"); n > 0 {
				term.PrefixList, term.Prefixes = lists[n-1].Name, lists[n-1].Prefixes
			}
			if term.Accept {
				term.SetLocalPref, term.SetMED = number.Draw(t, "local_pref"), number.Draw(t, "med")
				term.Prepend = rapid.IntRange(0, maxPrepend).Draw(t, "prepend")
				term.AddCommunity = communities.Draw(t, "add_community")
			}
			return term
		})}
	})
}

func someBGP(t *rapid.T, c *Config) *BGP {
	b := &BGP{
		ListenPort:      rapid.IntRange(1, 65535).Draw(t, "listen_port"),
		Multipath:       rapid.IntRange(1, maxPaths).Draw(t, "multipath"),
		GracefulRestart: time.Duration(rapid.IntRange(0, 4095).Draw(t, "graceful_restart")) * time.Second,
	}
	group := 0
	b.Neighbors = several(t, "neighbors", 6, func(i int) Neighbor {
		group += rapid.IntRange(0, 1).Draw(t, "next group")
		n := someNeighbor(t, c)
		n.Address = netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + i)})
		if group%2 == 1 {
			n.Group = fmt.Sprintf("group%d", group)
		}
		return n
	})
	return b
}

func someNeighbor(t *rapid.T, c *Config) Neighbor {
	policy := func(what string) string {
		if n := rapid.IntRange(0, len(c.Policies)).Draw(t, what); n > 0 {
			return c.Policies[n-1].Name
		}
		return ""
	}
	n := Neighbor{
		Description:  description(t),
		AS:           rapid.SampledFrom([]uint32{64496, 64500, 4200000000}).Draw(t, "as"),
		Import:       policy("import"),
		Export:       policy("export"),
		Port:         rapid.IntRange(1, 65535).Draw(t, "port"),
		Passive:      rapid.Bool().Draw(t, "passive"),
		HoldTime:     time.Duration(rapid.SampledFrom([]int{0, 3, 90, 65535}).Draw(t, "hold_time")) * time.Second,
		MaxPrefixes:  rapid.SampledFrom([]int{0, 1, 500, DefaultMaxPrefixes}).Draw(t, "max_prefixes"),
		PasswordFile: rapid.SampledFrom([]string{"", "/etc/routerd/key", `/a "b" ${c}`}).Draw(t, "password_file"),
		TTLSecurity:  rapid.Bool().Draw(t, "ttl_security"),
		Multihop:     1,
		Prepend:      rapid.IntRange(0, maxPrepend).Draw(t, "prepend"),
	}
	if !n.TTLSecurity && !n.Internal(c.Router.AS) {
		n.Multihop = rapid.IntRange(1, maxHops).Draw(t, "multihop")
	}
	return n
}

func someSockets(t *rapid.T) []Socket {
	sockets := several(t, "sockets", 3, func(i int) Socket {
		return Socket{
			Path:   fmt.Sprintf(`/run/${x} "%%{y}/%d.sock`, i),
			Group:  rapid.SampledFrom([]string{"", "routerd"}).Draw(t, "group"),
			Access: rapid.SampledFrom([]Access{AccessFull, AccessRead}).Draw(t, "access"),
		}
	})
	if len(sockets) == 0 {
		return []Socket{{Path: DefaultSocket, Access: AccessFull}}
	}
	return sockets
}
