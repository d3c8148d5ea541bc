//go:build linux

package edge

import (
	"fmt"
	"strings"
)

// Config returns a routerd.conf for the network: each upstream may tell us
// everything and hears of our LAN alone. Extra is added at the end of the file.
func (n *Network) Config(socket, extra string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The edge router of the lab.
router {
  name = "edge.example.net"
  as   = %d
  id   = %q
}

port "lan0" {
  description = "LAN"
  device      = "xdp:lan0"
  addresses   = ["%s/27"]
}
`, RouterAS, RouterID, LANGateway)
	for _, u := range n.Upstreams {
		fmt.Fprintf(&b, `
port %q {
  description = "Upstream AS %d"
  device      = "xdp:%s"
  addresses   = ["%s/30"]
}
`, u.Port, u.AS, u.Port, u.Router)
	}
	fmt.Fprintf(&b, `
prefix_list "ours" {
  prefixes = [%q]
}

policy "upstream-in" {
  term "everything" {
    then = "accept"
  }
}

policy "announce-ours" {
  term "ours" {
    match { prefix_list = "ours" }
    then = "accept"
  }
}

bgp {
`, LANSubnet)
	for _, u := range n.Upstreams {
		fmt.Fprintf(&b, `  neighbor %q {
    description = "Upstream AS %d"
    as          = %d
    import      = "upstream-in"
    export      = "announce-ours"
  }
`, u.Address, u.AS, u.AS)
	}
	fmt.Fprintf(&b, `}

control {
  socket %q {}
}
%s`, socket, extra)
	return b.String()
}
