package bgp

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"routerd/config"
)

func TestDecode(t *testing.T) {
	attrs := []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(OriginIncomplete),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{
			bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint32{64496, 4200000000}),
			bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SET, []uint32{64510, 64511}),
		}),
		must(bgp.NewPathAttributeNextHop(netip.MustParseAddr("198.51.100.1"))),
		bgp.NewPathAttributeMultiExitDisc(0),
		bgp.NewPathAttributeLocalPref(70),
		bgp.NewPathAttributeAtomicAggregate(),
		must(bgp.NewPathAttributeAggregator(uint32(64510), netip.MustParseAddr("192.0.2.7"))),
		bgp.NewPathAttributeCommunities([]uint32{1, 2}),
		bgp.NewPathAttributeLargeCommunities([]*bgp.LargeCommunity{{ASN: 1, LocalData1: 2, LocalData2: 3}}),
		must(bgp.NewPathAttributeOriginatorId(netip.MustParseAddr("192.0.2.8"))),
		must(bgp.NewPathAttributeClusterList([]netip.Addr{netip.MustParseAddr("192.0.2.9")})),
	}
	nlri := []bgp.PathNLRI{{NLRI: must(bgp.NewIPAddrPrefix(prefix("203.0.113.0/24")))}, {NLRI: must(bgp.NewIPAddrPrefix(prefix("0.0.0.0/0")))}}
	gone := []bgp.PathNLRI{{NLRI: must(bgp.NewIPAddrPrefix(prefix("10.0.0.0/8")))}}
	want := Attrs{
		Origin: OriginIncomplete, ASPath: "64496 4200000000 {64510,64511}", PathLen: 3, NeighborAS: 64496,
		LocalPref: 70, HasMED: true, Communities: []uint32{1, 2}, Large: []LargeCommunity{{1, 2, 3}},
		Atomic: true, Aggregator: Aggregator{64510, netip.MustParseAddr("192.0.2.7")},
		Originator: netip.MustParseAddr("192.0.2.8"), Clusters: 1,
	}
	u := decode(nlri, gone, attrs, false)
	if d := cmp.Diff(want, u.advert.attrs, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]prefix4{{pack(prefix("203.0.113.0/24")), pack(prefix("0.0.0.0/0"))}, {pack(prefix("10.0.0.0/8"))}}, [][]prefix4{u.reach, u.withdraw}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]uint32{64496, 4200000000, 64510, 64511}, u.advert.ases); d != "" {
		t.Error(d)
	}
	// Every attribute that counts tells two adverts apart.
	for i := range attrs {
		less := append(append([]bgp.PathAttributeInterface{}, attrs[:i]...), attrs[i+1:]...)
		if v := decode(nlri, nil, less, false); v.advert.key == u.advert.key && attrs[i].GetType() != bgp.BGP_ATTR_TYPE_ORIGIN {
			t.Errorf("without %s the advert is the same", attrs[i].GetType())
		}
	}
	if v := decode(nlri, gone, attrs, true); v.advert != nil || len(v.reach) != 0 || len(v.withdraw) != 3 {
		t.Errorf("to be treated as a withdraw: %+v", v)
	}
}

func TestDecodeMultiprotocol(t *testing.T) {
	n := []bgp.PathNLRI{{NLRI: must(bgp.NewIPAddrPrefix(prefix("203.0.113.0/24")))}}
	path := bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint32{64496})})
	a, b := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
	hop := must(bgp.NewPathAttributeNextHop(a))
	reach := must(bgp.NewPathAttributeMpReachNLRI(bgp.RF_IPv4_UC, n, b))
	tests := []struct {
		name            string
		nlri            []bgp.PathNLRI
		attrs           []bgp.PathAttributeInterface
		hop             netip.Addr
		reach, withdraw int
		end             bool
	}{
		{"MP_REACH alone", nil, []bgp.PathAttributeInterface{path, reach}, b, 1, 0, false},
		{"MP_REACH has its own next hop", nil, []bgp.PathAttributeInterface{path, hop, reach}, b, 1, 0, false},
		{"two next hops", n, []bgp.PathAttributeInterface{path, hop, reach}, netip.Addr{}, 0, 2, false},
		{"MP_UNREACH", nil, []bgp.PathAttributeInterface{must(bgp.NewPathAttributeMpUnreachNLRI(bgp.RF_IPv4_UC, n))}, netip.Addr{}, 0, 1, false},
		{"End-of-RIB", nil, nil, netip.Addr{}, 0, 0, true},
		{"End-of-RIB by MP_UNREACH", nil, []bgp.PathAttributeInterface{must(bgp.NewPathAttributeMpUnreachNLRI(bgp.RF_IPv4_UC, nil))}, netip.Addr{}, 0, 0, true},
		{"End-of-RIB of IPv6", nil, []bgp.PathAttributeInterface{must(bgp.NewPathAttributeMpUnreachNLRI(bgp.RF_IPv6_UC, nil))}, netip.Addr{}, 0, 0, false},
	}
	for _, tt := range tests {
		u := decode(tt.nlri, nil, tt.attrs, false)
		if len(u.reach) != tt.reach || len(u.withdraw) != tt.withdraw || u.endOfRIB != tt.end {
			t.Errorf("%s: %+v", tt.name, u)
		}
		if tt.reach > 0 && u.advert.nextHop != tt.hop {
			t.Errorf("%s: next hop %v", tt.name, u.advert.nextHop)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCommunities(t *testing.T) {
	for text, want := range map[string]uint32{"0:0": 0, "64500:100": 64500<<16 | 100, "65535:65535": 0xffffffff, "no-export": 0xffffff01, "graceful-shutdown": 0xffff0000} {
		c, err := ParseCommunity(text)
		if err != nil || c != want {
			t.Errorf("%s: %#x, %v", text, c, err)
		}
		if again, err := ParseCommunity(FormatCommunity(c)); err != nil || again != c {
			t.Errorf("%s: %#x, %v", FormatCommunity(c), again, err)
		}
	}
	for _, text := range []string{"", ":", "1", "1:", "65536:1", "1:65536", "-1:1", "1:2:3", "a:b", "no-exports"} {
		if c, err := ParseCommunity(text); err == nil {
			t.Errorf("%q is %#x", text, c)
		}
	}
}

// FuzzUpdate takes bytes of an UPDATE body through GoBGP's parser and our decoder to
// the changes of a session, and holds the session's books against the changes.
func FuzzUpdate(f *testing.F) {
	for _, raw := range hostileUpdates {
		if len(raw) > 19 && raw[18] == bgp.BGP_MSG_UPDATE {
			f.Add(raw[19:])
		}
	}
	f.Add(updateMessage([]byte{8, 10}, okAttrs, okPrefix)[19:])
	f.Fuzz(func(t *testing.T, body []byte) {
		head := &bgp.BGPHeader{Len: uint16(19 + len(body)), Type: bgp.BGP_MSG_UPDATE}
		m, err := bgp.ParseBGPBody(head, body)
		if m == nil || err != nil && m.Body == nil {
			return
		}
		u := m.Body.(*bgp.BGPUpdate)
		s := newSession(config.Neighbor{Address: host(2), AS: 64496}, identity{as: ourAS},
			&rules{terms: []rule{{accept: true, add: []uint32{7}}}})
		table := make(map[netip.Prefix]*Path)
		emit := func(c Change) {
			if c.Path == nil {
				delete(table, c.Prefix)
			} else {
				table[c.Prefix] = c.Path
			}
			if !c.Prefix.IsValid() || c.Prefix != c.Prefix.Masked() {
				t.Errorf("prefix %v", c.Prefix)
			}
		}
		for _, asWithdraw := range []bool{false, true, false} {
			d := decode(u.NLRI, u.WithdrawnRoutes, u.PathAttributes, asWithdraw)
			s.withdraw(d.withdraw, emit)
			if d.advert != nil {
				s.announce(d.advert, d.reach, emit)
			}
			if len(table) != s.counts[accepted] {
				t.Errorf("%d routes at the sink, %d accepted", len(table), s.counts[accepted])
			}
		}
		for p := range s.routes {
			s.withdraw([]prefix4{p}, emit)
		}
		if len(table) != 0 || len(s.learned) != 0 || s.received() != 0 {
			t.Errorf("left over: %v, %d adverts", table, len(s.learned))
		}
	})
}
