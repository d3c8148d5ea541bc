package bgp

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

// message is a BGP message of kind around body, with a right header.
func message(kind byte, body ...byte) []byte {
	m := append(bytes.Repeat([]byte{0xff}, 16), 0, 0, kind)
	binary.BigEndian.PutUint16(m[16:], uint16(19+len(body)))
	return append(m, body...)
}

func updateMessage(withdrawn, attrs, nlri []byte) []byte {
	var b []byte
	b = binary.BigEndian.AppendUint16(b, uint16(len(withdrawn)))
	b = append(b, withdrawn...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(attrs)))
	b = append(b, attrs...)
	return message(bgp.BGP_MSG_UPDATE, append(b, nlri...)...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Attributes of AS 64496, for messages that are bad in one place.
var (
	okOrigin  = []byte{0x40, 1, 1, 0}
	okPath    = []byte{0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf0}
	okNextHop = []byte{0x40, 3, 4, 127, 0, 0, 2}
	okPrefix  = []byte{24, 203, 0, 113}
	okAttrs   = join(okOrigin, okPath, okNextHop)
)

var hostileUpdates = map[string][]byte{
	"AS4_PATH before AS_PATH (CVE-2026-41643)":    updateMessage(nil, join(okOrigin, []byte{0xc0, 17, 6, 2, 1, 0, 0, 0xfb, 0xf0}, okPath, okNextHop), okPrefix),
	"unknown well-known attribute":                updateMessage(nil, join(okAttrs, []byte{0x40, 99, 1, 0}), okPrefix),
	"attribute longer than the rest":              updateMessage(nil, join(okOrigin, okPath, []byte{0x40, 3, 200, 127, 0, 0, 2}), okPrefix),
	"extended length past the end":                updateMessage(nil, join(okAttrs, []byte{0x50, 4, 0xff, 0xff}), okPrefix),
	"attribute header alone":                      updateMessage(nil, []byte{0x40}, okPrefix),
	"total attribute length past the end":         message(2, 0, 0, 0xff, 0xff, 0x40),
	"withdrawn length past the end":               message(2, 0xff, 0xff, 0),
	"no body":                                     message(2),
	"withdrawn length alone":                      message(2, 0, 0),
	"AS_PATH segment past the end":                updateMessage(nil, join(okOrigin, []byte{0x40, 2, 6, 2, 200, 0, 0, 0xfb, 0xf0}, okNextHop), okPrefix),
	"AS_PATH segment of no AS":                    updateMessage(nil, join(okOrigin, []byte{0x40, 2, 2, 2, 0}, okNextHop), okPrefix),
	"AS_PATH of an unknown segment":               updateMessage(nil, join(okOrigin, []byte{0x40, 2, 6, 9, 1, 0, 0, 0xfb, 0xf0}, okNextHop), okPrefix),
	"AS_PATH of odd length":                       updateMessage(nil, join(okOrigin, []byte{0x40, 2, 5, 2, 1, 0, 0, 0xfb}, okNextHop), okPrefix),
	"AS 0 in the path":                            updateMessage(nil, join(okOrigin, []byte{0x40, 2, 10, 2, 2, 0, 0, 0xfb, 0xf0, 0, 0, 0, 0}, okNextHop), okPrefix),
	"confederation segment from outside":          updateMessage(nil, join(okOrigin, []byte{0x40, 2, 6, 3, 1, 0, 0, 0xfb, 0xf0}, okNextHop), okPrefix),
	"origin 7":                                    updateMessage(nil, join([]byte{0x40, 1, 1, 7}, okPath, okNextHop), okPrefix),
	"origin of no length":                         updateMessage(nil, join([]byte{0x40, 1, 0}, okPath, okNextHop), okPrefix),
	"origin twice":                                updateMessage(nil, join(okOrigin, okOrigin, okPath, okNextHop), okPrefix),
	"next hop of 3 bytes (CVE-2026-30405)":        updateMessage(nil, join(okOrigin, okPath, []byte{0x40, 3, 3, 1, 2, 3}), okPrefix),
	"next hop of no length":                       updateMessage(nil, join(okOrigin, okPath, []byte{0x40, 3, 0}), okPrefix),
	"next hop of 16 bytes":                        updateMessage(nil, join(okOrigin, okPath, []byte{0x40, 3, 16}, make([]byte, 16)), okPrefix),
	"no next hop":                                 updateMessage(nil, join(okOrigin, okPath), okPrefix),
	"no attributes":                               updateMessage(nil, nil, okPrefix),
	"prefix of 33 bits":                           updateMessage(nil, okAttrs, []byte{33, 1, 2, 3, 4, 5}),
	"prefix of 255 bits":                          updateMessage(nil, okAttrs, []byte{255}),
	"prefix cut short":                            updateMessage(nil, okAttrs, []byte{24, 203}),
	"withdrawn prefix of 33 bits":                 updateMessage([]byte{33, 1, 2, 3, 4, 5}, nil, nil),
	"MED of 3 bytes":                              updateMessage(nil, join(okAttrs, []byte{0x80, 4, 3, 0, 0, 0}), okPrefix),
	"LOCAL_PREF of no length":                     updateMessage(nil, join(okAttrs, []byte{0x40, 5, 0}), okPrefix),
	"communities of 3 bytes":                      updateMessage(nil, join(okAttrs, []byte{0xc0, 8, 3, 0, 0, 0}), okPrefix),
	"extended communities of 7 (CVE-2026-37461)":  updateMessage(nil, join(okAttrs, []byte{0xc0, 16, 7, 0, 2, 0, 0, 0, 0, 0}), okPrefix),
	"large communities of 11 bytes":               updateMessage(nil, join(okAttrs, []byte{0xc0, 32, 11}, make([]byte, 11)), okPrefix),
	"aggregator of 5 bytes":                       updateMessage(nil, join(okAttrs, []byte{0xc0, 7, 5, 0, 0, 0, 0, 0}), okPrefix),
	"originator of 2 bytes":                       updateMessage(nil, join(okAttrs, []byte{0x80, 9, 2, 0, 0}), okPrefix),
	"cluster list of 2 bytes":                     updateMessage(nil, join(okAttrs, []byte{0x80, 10, 2, 0, 0}), okPrefix),
	"MP_REACH of 1 byte":                          updateMessage(nil, join(okOrigin, okPath, []byte{0x80, 14, 1, 0}), nil),
	"MP_REACH next hop past the end":              updateMessage(nil, join(okOrigin, okPath, []byte{0x80, 14, 5, 0, 1, 1, 200, 0}), nil),
	"MP_REACH of no next hop":                     updateMessage(nil, join(okOrigin, okPath, []byte{0x80, 14, 9, 0, 1, 1, 0, 0, 24, 203, 0, 113}), nil),
	"MP_REACH of another family":                  updateMessage(nil, join(okOrigin, okPath, []byte{0x80, 14, 5, 0, 99, 99, 0, 0}), nil),
	"MP_UNREACH of 2 bytes":                       updateMessage(nil, []byte{0x80, 15, 2, 0, 1}, nil),
	"Prefix-SID over-read (CVE-2026-7734)":        updateMessage(nil, join(okAttrs, []byte{0xc0, 40, 8, 5, 0, 5, 0, 1, 0xff, 0xff, 0}), okPrefix),
	"tunnel encapsulation cut short":              updateMessage(nil, join(okAttrs, []byte{0xc0, 23, 4, 0, 1, 0, 200}), okPrefix),
	"AIGP of no length":                           updateMessage(nil, join(okAttrs, []byte{0x80, 26, 0}), okPrefix),
	"PMSI tunnel of 1 byte":                       updateMessage(nil, join(okAttrs, []byte{0xc0, 22, 1, 0}), okPrefix),
	"link state cut short":                        updateMessage(nil, join(okAttrs, []byte{0x80, 29, 4, 4, 1, 0, 200}), okPrefix),
	"every attribute type of no length":           updateMessage(nil, join(okAttrs, emptyAttributes()), okPrefix),
	"ROUTE-REFRESH of no body":                    message(5),
	"ROUTE-REFRESH of an unknown family":          message(5, 0, 99, 0, 99),
	"NOTIFICATION of no body":                     message(3),
	"OPEN while established":                      message(1, 4, 0, 1, 0, 90, 1, 1, 1, 1, 0),
	"KEEPALIVE with a body":                       message(4, 1, 2, 3),
	"message type 0":                              message(0),
	"message type 255":                            message(255, 1, 2, 3),
	"length 18":                                   append(bytes.Repeat([]byte{0xff}, 16), 0, 18, 2),
	"length 65535":                                append(bytes.Repeat([]byte{0xff}, 16), 0xff, 0xff, 2),
	"bad marker":                                  append(make([]byte, 16), 0, 19, 4),
	"shutdown text longer than it says (RFC9003)": message(3, 6, 2, 200, 'x'),
}

func emptyAttributes() []byte {
	var b []byte
	for i := 16; i < 256; i++ {
		b = append(b, 0xc0, byte(i), 0)
	}
	return b
}

// Nothing that a neighbour sends ends the process, touches another session, or
// leaves a route behind that was not announced properly.
func TestMalformedMessages(t *testing.T) {
	r := newRig(t)
	neighbors := []config.Neighbor{external(2, 64497)}
	for i := range len(hostileUpdates) { // one each: a neighbour is refused for 5 s after an error
		neighbors = append(neighbors, external(i+3, 64496))
	}
	r.apply(r.config(permissive(), neighbors...))
	calm := r.dial(2, 64497)
	r.must(calm.Announce(bgptest.Route{}, prefix("192.0.2.0/24")))
	r.sink.has(t, host(2), "192.0.2.0/24")
	i := 2
	for name, raw := range hostileUpdates {
		i++
		p := r.dial(i, 64496)
		before := prefix("198.51.100.0/24")
		r.must(p.Announce(bgptest.Route{NextHop: host(2)}, before))
		r.sink.has(t, host(i), before.String())
		if err := p.SendRaw(raw); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Either the session ends, or it goes on and takes the next route.
		after := prefix("10.0.0.0/8")
		p.Announce(bgptest.Route{NextHop: host(2)}, after)
		p.Kill()
		r.sink.wait(t, name, func() bool { return len(r.sink.downs[host(i)]) == 1 })
	}
	r.must(calm.Announce(bgptest.Route{}, prefix("9.9.9.0/24")))
	r.sink.has(t, host(2), "192.0.2.0/24", "9.9.9.0/24")
	if calm.State().Done != nil {
		t.Error("the calm session ended")
	}
}

// An announcement that is malformed withdraws what it replaces (RFC 7606).
func TestTreatAsWithdraw(t *testing.T) {
	r := newRig(t)
	r.apply(r.config(permissive(), external(2, 64496), external(3, 64497)))
	p, other := r.dial(2, 64496), r.dial(3, 64497)
	target := "203.0.113.0/24"
	for _, name := range []string{"origin 7", "AS 0 in the path", "MED of 3 bytes", "confederation segment from outside", "no next hop"} {
		r.must(p.Announce(bgptest.Route{}, prefix(target)))
		r.sink.has(t, host(2), target)
		r.must(p.SendRaw(hostileUpdates[name]))
		r.must(p.Announce(bgptest.Route{}, prefix("10.0.0.0/8")))
		r.sink.has(t, host(2), "10.0.0.0/8")
		r.must(p.Withdraw(prefix("10.0.0.0/8")))
		r.sink.has(t, host(2))
	}
	if p.State().Done != nil || other.State().Done != nil {
		t.Error("a session ended")
	}
	if v, _ := r.s.Neighbor(host(2)); v.Malformed == 0 {
		t.Errorf("%+v", v)
	}
}

// LOCAL_PREF has no place in eBGP. GoBGP takes it off while its event stream may still
// read the path: see the package comment. We ignore it.
func TestLocalPrefFromOutside(t *testing.T) {
	r := newRig(t)
	r.apply(r.config(permissive(), external(2, 64496), external(3, 64497)))
	p, other := r.dial(2, 64496), r.dial(3, 64497)
	const rounds, each = 5, 200
	for round := range rounds {
		for i := range 50 {
			var list []netip.Prefix
			for j := range each {
				n := i*each + j
				list = append(list, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 0}), 24))
			}
			r.must(p.Announce(bgptest.Route{ASPath: []uint32{64496, uint32(round + 1)}, LocalPref: new(uint32(4000))}, list...))
		}
	}
	r.must(p.EndOfRIB())
	r.sink.wait(t, "end of RIB", func() bool { return r.sink.eor[host(2)] == 1 })
	if a := r.sink.path(host(2), "10.0.0.0/24"); a.Attrs.LocalPref != DefaultLocalPref {
		t.Errorf("local pref %d", a.Attrs.LocalPref)
	}
	if other.State().Done != nil {
		t.Error("the other session ended")
	}
}

// Bytes before OPEN: GoBGP v3 died of the first (19 bytes).
func TestBadOpenings(t *testing.T) {
	r := newRig(t)
	r.apply(r.config(permissive(), external(2, 64496)))
	tests := map[string][]byte{
		"length 18":             append(bytes.Repeat([]byte{0xff}, 16), 0, 18, 1),
		"bad marker":            append(make([]byte, 16), 0, 29, 1),
		"an UPDATE":             updateMessage(nil, okAttrs, okPrefix),
		"OPEN of no body":       message(1),
		"version 3":             message(1, 3, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 0),
		"hold time 1":           message(1, 4, 0xfb, 0xf0, 0, 1, 127, 0, 0, 2, 0),
		"identifier 0":          message(1, 4, 0xfb, 0xf0, 0, 90, 0, 0, 0, 0, 0),
		"wrong AS":              message(1, 4, 0, 7, 0, 90, 127, 0, 0, 2, 0),
		"parameter past end":    message(1, 4, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 4, 2, 200, 1, 4),
		"capability past end":   message(1, 4, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 4, 2, 2, 65, 200),
		"capability cut":        message(1, 4, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 5, 2, 3, 65, 1, 0),
		"graceful restart cut":  message(1, 4, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 5, 2, 3, 64, 1, 0),
		"add-path cut":          message(1, 4, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 5, 2, 3, 69, 1, 0),
		"host name over-read":   message(1, 4, 0xfb, 0xf0, 0, 90, 127, 0, 0, 2, 5, 2, 3, 73, 1, 200),
		"nothing, then a reset": nil,
	}
	to := bgptest.Options{Local: host(2), Remote: netip.AddrPortFrom(ours, uint16(r.port))}
	for name, raw := range tests {
		conn, err := bgptest.Connect(r.ctx, to)
		r.must(err)
		if _, err := conn.Write(raw); err != nil && err != io.EOF {
			t.Logf("%s: %v", name, err) // GoBGP may close before it reads
		}
		conn.Close()
	}
	p := r.dial(2, 64496)
	r.must(p.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	r.sink.has(t, host(2), "203.0.113.0/24")
}
