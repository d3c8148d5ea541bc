package dataplane_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/dataplane"
	"routerd/dataplane/packet"
	"routerd/fib"
)

func TestErrorsTellTheSenderWhy(t *testing.T) {
	icmpType := func(kind byte) func([]byte) []byte {
		return func(f []byte) []byte {
			f[34] = kind
			return setByte(23, packet.ProtoICMP, true)(f)
		}
	}
	expired := udp{src: "192.0.2.7", dst: "198.51.100.7", ttl: 1}
	with := func(change func([]byte) []byte) udp { u := expired; u.change = change; return u }
	for _, c := range []struct {
		name string
		in   udp
		want string
	}{
		{"TTL expired", expired, "11/0 mtu 0 from 192.0.2.1 to 192.0.2.7 about 198.51.100.7"},
		{"no route", udp{src: "192.0.2.7", dst: "8.8.8.8"}, "3/0 mtu 0 from 192.0.2.1 to 192.0.2.7 about 8.8.8.8"},
		{"unreachable route", udp{src: "192.0.2.7", dst: "10.2.1.1"}, "3/1 mtu 0 from 192.0.2.1 to 192.0.2.7 about 10.2.1.1"},
		{"too big", udp{src: "192.0.2.7", dst: "198.51.100.7", size: 1473, df: true}, "3/4 mtu 1500 from 192.0.2.1 to 192.0.2.7 about 198.51.100.7"},
		{"just not too big", udp{src: "192.0.2.7", dst: "198.51.100.7", size: 1472, df: true}, ""},
		{"sender behind a router", udp{src: "203.0.113.77", dst: "8.8.8.8"}, ""}, // back over b, where it came by a
		{"blackhole", udp{src: "192.0.2.7", dst: "10.1.1.1"}, ""},
		{"first fragment", with(setByte(20, 0x20, true)), "11/0 mtu 0 from 192.0.2.1 to 192.0.2.7 about 198.51.100.7"},
		{"later fragment", with(setByte(21, 9, true)), ""},
		{"echo request", with(icmpType(8)), "11/0 mtu 0 from 192.0.2.1 to 192.0.2.7 about 198.51.100.7"},
		{"an error", with(icmpType(11)), ""},
		{"unknown ICMP", with(icmpType(99)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, a, _ := twoPorts(t, routerOptions{})
			r.route("10.1.0.0/16", fib.NextHop{Action: fib.ActionBlackhole})
			r.route("10.2.0.0/16", fib.NextHop{Action: fib.ActionUnreachable})
			a.send(c.in)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if diff := cmp.Diff(want, errorsIn(t, r.settle()["a"])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorQuotesThePacketUpTo576Bytes(t *testing.T) {
	r, a, _ := twoPorts(t, routerOptions{})
	for _, c := range []struct{ size, want int }{{1, 28 + 29}, {400, 28 + 428}, {1000, 576}} {
		a.send(udp{src: "192.0.2.7", dst: "198.51.100.7", ttl: 1, size: c.size, mark: 42})
		out := r.settle()["a"]
		if len(out) != 1 {
			t.Fatalf("%d frames", len(out))
		}
		p, err := packet.ParseIPv4(out[0][14:])
		if err != nil || len(p) != c.want || p.TTL() != 64 || p.DontFragment() {
			t.Errorf("payload of %d: error of %d bytes, want %d (%v)", c.size, len(p), c.want, err)
		}
		quoted := packet.IPv4(p.Payload()[packet.ICMPLen:])
		if quoted.TTL() != 1 || quoted.TotalLen() != 28+c.size || quoted.Payload()[8] != 42 {
			t.Errorf("quoted: % x", []byte(quoted))
		}
	}
}

func TestErrorsAreLimitedAndTheLimitRecovers(t *testing.T) {
	r, a, b := twoPorts(t, routerOptions{burst: 3})
	b.send(udp{src: "198.51.100.7", dst: "192.0.2.7"})
	r.settle()
	for range 10 {
		a.send(udp{src: "192.0.2.7", dst: "8.8.8.8"})
	}
	if n := len(errorsIn(t, r.settle()["a"])); n != 3 {
		t.Errorf("%d errors at once, 3 are allowed", n)
	}
	if c := r.state.Port(a.index); c.ICMPSent != 3 || c.ICMPSuppressed != 7 || c.Drops(dataplane.DropNoRoute) != 10 {
		t.Errorf("%d sent, %d suppressed, %d dropped", c.ICMPSent, c.ICMPSuppressed, c.Drops(dataplane.DropNoRoute))
	}
	r.pass(2 * time.Second)
	for range 10 {
		a.send(udp{src: "192.0.2.7", dst: "8.8.8.8"})
	}
	if n := len(errorsIn(t, r.settle()["a"])); n != 2 {
		t.Errorf("%d errors after two seconds at one a second", n)
	}
}
