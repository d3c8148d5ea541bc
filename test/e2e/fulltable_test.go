//go:build linux

package e2e

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gaissmai/bart"
	"github.com/gopacket/gopacket/layers"

	"routerd/control/api"
	"routerd/fib"
	"routerd/fib/realtable"
	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

const (
	lookups      = 100_000
	shown        = 1_000 // of them asked for by show fib, too
	destinations = 10_000
)

// fullTable is the real table: upstream A announces all of it, upstream B every
// second prefix over a longer path.
type fullTable struct {
	*world
	prefixes []netip.Prefix
	truth    bart.Table[int] // which upstream; the router must agree
	rng      *rand.Rand
}

func TestFullTable(t *testing.T) {
	if testing.Short() {
		t.Skip("901,899 routes are not for -short")
	}
	prefixes, err := realtable.Prefixes()
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, 2, 8*time.Minute, "bird", "birdc")
	f := &fullTable{world: w, prefixes: prefixes, rng: rand.New(rand.NewPCG(1, 2))}
	half := everySecond(prefixes)
	f.bird(1, routesOf(half), "bgp_path.prepend(64497);")
	began := time.Now()
	a := f.bird(0, routesOf(prefixes), "")
	f.awaitFIB(prefixes)
	t.Logf("%d routes of A in the FIB %.1f s after its session came up; resident: %s", len(prefixes), time.Since(began).Seconds(), f.resident())
	for _, p := range prefixes {
		f.truth.Insert(p, 0)
	}
	f.sameAsSent(prefixes)
	f.sameLookups()
	f.crosses()

	began = time.Now()
	_, err = a.Stop(w.ctx, syscall.SIGKILL)
	w.try(err)
	f.awaitFIB(half)
	t.Logf("%d routes of B alone in the FIB %.1f s after A died", len(half), time.Since(began).Seconds())
	f.truth = bart.Table[int]{}
	for _, p := range half {
		f.truth.Insert(p, 1)
	}
	f.sameAsSent(half)
	f.sameLookups()
	f.crosses()
	f.refusesLost()
}

// resident is the resident memory of both processes.
func (f *fullTable) resident() string {
	f.t.Helper()
	s := f.status()
	var parts []string
	for name, pid := range map[string]int{"control": s.PID, "forwarding": s.Dataplane.PID} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		f.try(err)
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				parts = append(parts, name+" "+strings.TrimSpace(value))
			}
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func everySecond(prefixes []netip.Prefix) []netip.Prefix {
	var half []netip.Prefix
	for i := 0; i < len(prefixes); i += 2 {
		half = append(half, prefixes[i])
	}
	return half
}

func routesOf(prefixes []netip.Prefix) string {
	var b strings.Builder
	for _, p := range prefixes {
		fmt.Fprintf(&b, "route %s blackhole;\n", p)
	}
	return b.String()
}

// awaitFIB waits until exactly as many BGP routes as prefixes are in the FIB and
// the BGP engine has nothing left to deliver.
func (f *fullTable) awaitFIB(prefixes []netip.Prefix) {
	f.t.Helper()
	f.try(lab.Await(f.ctx, fmt.Sprintf("%d eBGP routes in the FIB", len(prefixes)), func() error {
		counts, err := f.router.API.FIBCounts(f.ctx)
		if err == nil && (counts.EBGP != len(prefixes) || counts.Failed > 0) {
			err = fmt.Errorf("FIB has %+v", counts)
		}
		return err
	}))
}

// sameAsSent compares the whole stream of show fib with what was announced.
func (f *fullTable) sameAsSent(prefixes []netip.Prefix) {
	f.t.Helper()
	var got []netip.Prefix
	wrong := 0
	for e, err := range f.router.API.FIB(f.ctx, api.FIBQuery{Source: api.SourceEBGP}) {
		f.try(err)
		got = append(got, e.Prefix)
		upstream, _ := f.truth.Get(e.Prefix)
		if len(e.NextHops) != 1 || e.NextHops[0].Address != f.Upstreams[upstream].Address {
			if wrong++; wrong <= 5 {
				f.t.Errorf("%s: next hops %+v, want %s", e.Prefix, e.NextHops, f.Upstreams[upstream].Address)
			}
		}
	}
	want := slices.Clone(prefixes)
	order := func(a, b netip.Prefix) int {
		return 2*a.Addr().Compare(b.Addr()) + min(1, max(-1, a.Bits()-b.Bits()))
	}
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if !slices.Equal(got, want) {
		f.t.Errorf("the FIB streams %d prefixes which are not the %d sent", len(got), len(want))
	}
	if wrong > 0 {
		f.t.Errorf("%d of %d prefixes go to a wrong next hop", wrong, len(got))
	}
}

// random returns a random unicast address that is not one of the lab's own.
func (f *fullTable) random() netip.Addr {
	for {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], f.rng.Uint32())
		a := netip.AddrFrom4(b)
		if b[0] == 0 || b[0] == 127 || b[0] >= 224 || netip.MustParsePrefix(edge.LANSubnet).Contains(a) ||
			slices.ContainsFunc(f.Upstreams, func(u edge.Upstream) bool { return netip.PrefixFrom(u.Address, 30).Contains(a) }) {
			continue
		}
		return a
	}
}

// sameLookups compares where random addresses go with what BART says: all of them
// in the live FIB, some of them by show fib as well.
func (f *fullTable) sameLookups() {
	f.t.Helper()
	live := f.live()
	wrong := 0
	for i := range lookups {
		a := f.random()
		prefix, routed := f.lookup(a)
		want := fib.NextHop{}
		if routed {
			upstream, _ := f.truth.Get(prefix)
			want = fib.NextHop{Action: fib.ActionForward, Gateway: f.Upstreams[upstream].Address}
		}
		got := live.nextHop(a)
		if got.Action != want.Action || got.Gateway != want.Gateway {
			if wrong++; wrong <= 5 {
				f.t.Errorf("%s: the FIB says %+v, BART %v, so %+v", a, got, prefix, want)
			}
		}
		if i < shown {
			f.sameShown(a, prefix)
		}
	}
	if wrong > 0 {
		f.t.Errorf("%d of %d lookups are wrong", wrong, lookups)
	}
}

// sameShown asks show fib for an address; the invalid prefix means no route.
func (f *fullTable) sameShown(a netip.Addr, want netip.Prefix) {
	f.t.Helper()
	entries, err := f.router.FIB(f.ctx, api.FIBQuery{Query: api.Query{Address: a}})
	got := netip.Prefix{}
	if err == nil && len(entries) == 1 {
		got = entries[0].Prefix
	} else if !isNotFound(err) {
		f.try(err)
	}
	if got != want {
		f.t.Errorf("%s: show fib says %v, BART %v", a, got, want)
	}
}

func (f *fullTable) lookup(a netip.Addr) (netip.Prefix, bool) {
	p, _, ok := f.truth.LookupPrefixLPM(netip.PrefixFrom(a, 32))
	return p, ok
}

// crosses sends one packet to each of many random routed destinations and checks
// each where it comes out.
func (f *fullTable) crosses() {
	f.t.Helper()
	lan := f.port(f.LAN)
	gateway, err := f.Router.MAC("lan0")
	f.try(err)
	var out []*probe.Port
	for _, u := range f.Upstreams {
		out = append(out, f.port(u))
	}
	window := 1 // packets under way: the first alone, since its next hop may not be resolved yet
	for sent := 0; sent < destinations; {
		expected := make([]map[netip.Addr]bool, len(out))
		for i := range expected {
			expected[i] = map[netip.Addr]bool{}
		}
		for n := 0; n < window; {
			dst := f.random()
			p, ok := f.lookup(dst)
			if !ok {
				continue
			}
			n++
			upstream, _ := f.truth.Get(p)
			expected[upstream][dst] = true
			f.try(lan.Send(f.packet(lan.MAC, gateway, dst)))
		}
		for i, port := range out {
			for len(expected[i]) > 0 {
				u, err := port.ReceiveUDP(f.ctx, func(u probe.UDP) bool { return u.Dst.Port() == 33434 })
				f.try(err)
				if !expected[i][u.Dst.Addr()] {
					f.t.Fatalf("%s came out towards upstream %d, where it does not belong", u.Dst, i)
				}
				if u.TTL != 63 || !slices.Equal(u.DstMAC, port.MAC) {
					f.t.Fatalf("%s came out with TTL %d to %s, want 63 to %s", u.Dst, u.TTL, u.DstMAC, port.MAC)
				}
				delete(expected[i], u.Dst.Addr())
			}
		}
		sent += window
		window = 100 // well below a veth ring
	}
}

func (f *fullTable) packet(src, dst net.HardwareAddr, to netip.Addr) []byte {
	return probe.UDP{
		SrcMAC: src, DstMAC: dst, TTL: 64, Payload: []byte(to.String()),
		Src: netip.AddrPortFrom(edge.LANHost, 5000), Dst: netip.AddrPortFrom(to, 33434),
	}.Frame()
}

// refusesLost sends to a destination that only the dead upstream had.
func (f *fullTable) refusesLost() {
	f.t.Helper()
	lan := f.port(f.LAN)
	gateway, err := f.Router.MAC("lan0")
	f.try(err)
	for _, p := range f.prefixes {
		if _, covered := f.lookup(p.Addr().Next()); covered || p.Bits() > 30 {
			continue
		}
		f.try(lan.Send(f.packet(lan.MAC, gateway, p.Addr().Next())))
		ip, _ := f.receiveICMP(lan, layers.ICMPv4TypeDestinationUnreachable)
		if ip.SrcIP.String() != edge.LANGateway.String() {
			f.t.Errorf("unreachable comes from %s", ip.SrcIP)
		}
		return
	}
	f.t.Error("every prefix of A is covered by B: nothing to refuse")
}
