//go:build linux

package afxdp

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProgramSteers runs the program on single frames in the kernel.
func TestProgramSteers(t *testing.T) {
	enterNamespace(t)
	own, other := [6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2}
	group := [6]byte{1, 0, 0x5e, 0, 0, 5}
	broadcast := [6]byte{255, 255, 255, 255, 255, 255}
	local := netip.MustParseAddr("192.0.2.1")
	d := newDriver(t, t.TempDir())
	must(t, d.setLocal([]netip.Addr{local, netip.MustParseAddr("192.0.2.255")}))
	prog, err := loadProgram(1, own, d.local)
	must(t, err)
	defer prog.close()
	s, err := newSocket(d.umem, 64, false)
	must(t, err)
	defer s.close()
	must(t, prog.setSocket(0, s))

	frame := func(dst [6]byte, to string, edit func([]byte)) []byte {
		f := udp(dst, other, netip.MustParseAddr(to), 1, 40)
		if edit != nil {
			edit(f)
		}
		return f
	}
	ethertype := func(v uint16) func([]byte) {
		return func(f []byte) { f[12], f[13] = byte(v>>8), byte(v) }
	}
	for _, c := range []struct {
		name  string
		frame []byte
		cause cause // -1: to the socket
	}{
		{"transit", frame(own, "203.0.113.7", nil), -1},
		{"options", frame(own, "203.0.113.7", func(f []byte) { f[14] = 0x46 }), -1},
		{"IP version 5", frame(own, "203.0.113.7", func(f []byte) { f[14] = 0x55 }), -1},
		{"fragment", frame(own, "203.0.113.7", func(f []byte) { f[20], f[21] = 0x20, 0x10 }), -1},
		{"class E", frame(own, "240.0.0.1", nil), -1},
		{"255.255.255.254", frame(own, "255.255.255.254", nil), -1},
		{"source of ours", frame(own, "0.0.0.0", nil), -1},
		{"shortest", frame(own, "203.0.113.7", nil)[:34], -1},
		{"local address", frame(own, "192.0.2.1", nil), passedLocal},
		{"local broadcast", frame(own, "192.0.2.255", nil), passedLocal},
		{"neighbour of a local address", frame(own, "192.0.2.2", nil), -1},
		{"multicast", frame(own, "224.0.0.5", nil), passedGroup},
		{"end of multicast", frame(own, "239.255.255.255", nil), passedGroup},
		{"limited broadcast", frame(own, "255.255.255.255", nil), passedGroup},
		{"other MAC", frame(other, "203.0.113.7", nil), passedMAC},
		{"multicast MAC", frame(group, "224.0.0.5", nil), passedMAC},
		{"broadcast MAC", frame(broadcast, "203.0.113.7", nil), passedMAC},
		{"ARP", frame(broadcast, "203.0.113.7", ethertype(unix.ETH_P_ARP)), passedOther},
		{"IPv6", frame(own, "203.0.113.7", ethertype(unix.ETH_P_IPV6)), passedOther},
		{"VLAN", frame(own, "203.0.113.7", ethertype(unix.ETH_P_8021Q)), passedOther},
		{"runt", frame(own, "203.0.113.7", nil)[:33], -1},
		{"header only", frame(own, "203.0.113.7", nil)[:14], -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before uint64
			if c.cause >= 0 {
				before = prog.count(0, c.cause)
			}
			action, _, err := prog.prog.Test(c.frame)
			must(t, err)
			want := uint32(4) // XDP_REDIRECT
			if c.cause >= 0 {
				want = xdpPass
			}
			if action != want {
				t.Errorf("action %d, want %d", action, want)
			}
			if c.cause >= 0 && prog.count(0, c.cause) != before+1 {
				t.Errorf("not counted as %s", causeNames[c.cause])
			}
		})
	}
	must(t, d.setLocal(nil))
	if action, _, err := prog.prog.Test(frame(own, "192.0.2.1", nil)); err != nil || action != 4 {
		t.Errorf("an address that is local no longer: action %d, %v", action, err)
	}
	must(t, prog.setMAC(other))
	if action, _, err := prog.prog.Test(frame(other, "203.0.113.7", nil)); err != nil || action != 4 {
		t.Errorf("the new MAC address: action %d, %v", action, err)
	}
}
