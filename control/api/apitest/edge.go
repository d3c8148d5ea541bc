package apitest

import (
	"net/netip"
	"time"

	"routerd/control/api"
)

var (
	addr   = netip.MustParseAddr
	prefix = netip.MustParsePrefix

	transitA = addr("198.51.100.1")
	transitB = addr("198.51.100.5")

	viaA = api.NextHop{Address: transitA, Port: "xe0", DstMAC: "3c:fd:fe:a1:00:11", SrcMAC: "3c:fd:fe:9e:7b:40", State: api.NeighborReachable}
	viaB = api.NextHop{Address: transitB, Port: "xe1", DstMAC: "3c:fd:fe:b2:00:07", SrcMAC: "3c:fd:fe:9e:7b:41", State: api.NeighborReachable}
	lan  = []api.NextHop{
		{Address: addr("192.0.2.10"), Port: "xe3", DstMAC: "52:54:00:12:34:0a", SrcMAC: "3c:fd:fe:9e:7b:43", State: api.NeighborStale},
		{Address: addr("192.0.2.11"), Port: "xe3", State: api.NeighborIncomplete},
	}
)

// Edge returns a Fake of an edge router with two transits, an exchange and a LAN.
func Edge() *Fake {
	return &Fake{
		StatusTable:   status(),
		Entries:       entries(),
		Counts:        counts(),
		RouteTable:    routes(),
		BGPTable:      api.BGP{AS: 64500, RouterID: addr("192.0.2.1"), Neighbors: sessions()},
		PortTable:     ports(),
		NeighborTable: neighbors(),
		DropTable:     drops(),
		RunningConfig: api.Config{ConfigStatus: running(), Text: "router {\n  name = \"edge1.example.net\"\n  as   = 64500\n  id   = \"192.0.2.1\"\n}\n"},
		Plan: api.ConfigPlan{
			File: "/etc/routerd/routerd.conf",
			Changes: []string{
				"neighbor 203.0.113.80 max_prefixes 500 -> 800 (no session reset)",
				"port xe3 mtu 9000 -> 1500 (link bounces about 1 s)",
			},
			Diff: "-      max_prefixes = 500\n+      max_prefixes = 800\n-  mtu         = 9000\n+  mtu         = 1500\n",
		},
	}
}

func running() api.ConfigStatus {
	return api.ConfigStatus{Path: "/etc/routerd/routerd.conf", Revision: 41, Applied: ago(76 * time.Hour), AppliedBy: "alice (uid 1001)"}
}

func status() api.Status {
	return api.Status{
		Hostname: "edge1.example.net", Version: "0.1.0", AS: 64500, RouterID: addr("192.0.2.1"),
		PID: 1201, Started: ago(76 * time.Hour),
		Dataplane: api.Dataplane{
			PID: 1207, Started: ago(289 * time.Hour), Idle: "adaptive",
			Workers: []api.Worker{
				{ID: 0, CPU: 2, InPkts: 81_234_567_890, OutPkts: 81_234_000_120, Dropped: 40_132, Punted: 527_638, Rounds: 9_120_000_000, BusyRounds: 2_310_000_000},
				{ID: 1, CPU: 3, InPkts: 79_100_003, OutPkts: 79_100_001, Punted: 2, Rounds: 9_080_000_000, BusyRounds: 12_000_000},
			},
		},
		Config: running(), PortsUp: api.Usage{Used: 3, Max: 4}, Sessions: api.Usage{Used: 3, Max: 4},
		FIBRoutes: 1_021_352, FIBStale: 12, FIBFailed: 2,
		Unhealthy: []string{}, NotReady: []string{},
		Warnings: []string{"port xe1 is down since 2026-11-29T11:48:00Z", "2 routes are not in the FIB (routerctl show fib --count)"},
	}
}

func entries() []api.FIBEntry {
	return []api.FIBEntry{
		{Prefix: prefix("0.0.0.0/0"), Source: api.SourceEBGP, Peer: transitA, PeerDescription: "Transit A", Since: ago(76 * time.Hour), Action: api.ActionForward, NextHops: []api.NextHop{viaA}},
		{Prefix: prefix("8.8.8.0/24"), Source: api.SourceEBGP, Peer: transitA, PeerDescription: "Transit A", Since: ago(192 * time.Minute), Action: api.ActionForward, NextHops: []api.NextHop{viaA}, Backups: []api.NextHop{viaB}},
		{Prefix: prefix("10.0.0.0/8"), Source: api.SourceStatic, Since: ago(76 * time.Hour), Action: api.ActionUnreachable},
		{Prefix: prefix("100.64.0.0/10"), Source: api.SourceUnknown, Action: api.ActionForward, NextHops: []api.NextHop{{Address: transitB, Port: "xe1", State: api.NeighborProbe}}, Stale: true},
		{Prefix: prefix("192.0.2.0/24"), Source: api.SourceStatic, Since: ago(76 * time.Hour), Action: api.ActionBlackhole},
		{Prefix: prefix("192.0.2.0/27"), Source: api.SourceConnected, Since: ago(289 * time.Hour), Action: api.ActionGlean, NextHops: []api.NextHop{{Port: "xe3"}}},
		{Prefix: prefix("192.0.2.1/32"), Source: api.SourceConnected, Since: ago(289 * time.Hour), Action: api.ActionLocal, NextHops: []api.NextHop{{Port: "xe3"}}},
		{Prefix: prefix("192.0.2.128/25"), Source: api.SourceStatic, Since: ago(5 * time.Minute), Action: api.ActionForward, NextHops: lan},
		{Prefix: prefix("203.0.113.255/32"), Source: api.SourceIBGP, Peer: addr("192.0.2.2"), Since: ago(7 * time.Second), Action: api.ActionForward, NextHops: []api.NextHop{viaB}},
	}
}

func counts() api.FIBCounts {
	return api.FIBCounts{
		Connected: 5, Static: 3, EBGP: 1_021_332, IBGP: 0, Stale: 12, Failed: 2, Total: 1_021_352,
		TableOctets:    33_789_312,
		ExtendedGroups: api.Usage{Used: 451, Max: 32_767},
		NextHops:       api.Usage{Used: 14, Max: 32_767},
		NextHopGroups:  api.Usage{Used: 9, Max: 32_767},
		Audit:          api.Audit{Last: ago(41 * time.Second), Checked: 88_123_456, Divergences: 0},
		Failures: []api.FIBFailure{
			{Prefix: prefix("198.18.0.128/25"), Reason: "extended groups full: 32,767 of 32,767 used"},
			{Prefix: prefix("198.18.1.0/26"), Reason: "extended groups full: 32,767 of 32,767 used"},
		},
	}
}

func routes() []api.Route {
	pathA := &api.BGPPath{ASPath: "64496 64510", Origin: "igp", LocalPref: 100, MED: new(uint32(20)), Communities: []string{"64500:100", "no-export"}}
	pathB := &api.BGPPath{ASPath: "64497 64499 {64510 64511}", Origin: "incomplete", LocalPref: 100}
	return []api.Route{
		{
			Prefix: prefix("8.8.8.0/24"), InFIB: true,
			Candidates: []api.Candidate{
				{Source: api.SourceEBGP, Distance: 20, Best: true, Action: api.ActionForward, NextHops: []api.NextHop{viaA}, Peer: transitA, PeerDescription: "Transit A", Since: ago(192 * time.Minute), Path: pathA},
				{Source: api.SourceEBGP, Distance: 20, Loses: "AS path length", Action: api.ActionForward, NextHops: []api.NextHop{viaB}, Peer: transitB, PeerDescription: "Transit B", Since: ago(76 * time.Hour), Path: pathB},
			},
			Covering: []api.Covering{{Prefix: prefix("0.0.0.0/0"), Source: api.SourceEBGP, Action: api.ActionForward, NextHops: []api.NextHop{viaA}}},
		},
		{
			Prefix: prefix("192.0.2.128/25"), InFIB: true,
			Candidates: []api.Candidate{
				{Source: api.SourceStatic, Distance: 1, Best: true, Action: api.ActionForward, NextHops: lan, Since: ago(5 * time.Minute)},
				{Source: api.SourceEBGP, Distance: 20, Loses: "distance", Action: api.ActionForward, NextHops: []api.NextHop{viaA}, Peer: transitA, PeerDescription: "Transit A", Since: ago(76 * time.Hour), Path: pathA},
			},
			Covering: []api.Covering{{Prefix: prefix("192.0.2.0/24"), Source: api.SourceStatic, Action: api.ActionBlackhole}},
		},
		{
			Prefix:   prefix("198.51.100.128/25"),
			NotInFIB: "no candidate has a next hop that resolves",
			Candidates: []api.Candidate{
				{Source: api.SourceIBGP, Distance: 200, Loses: "next hop unresolved", Action: api.ActionForward, NextHops: []api.NextHop{{Address: addr("172.16.9.9")}}, Peer: addr("192.0.2.2"), Since: ago(90 * time.Second), Path: &api.BGPPath{Origin: "igp", LocalPref: 200}},
			},
		},
	}
}

func sessions() []api.BGPNeighbor {
	caps := []string{"ipv4-unicast", "route-refresh", "4-octet-as", "extended-message"}
	return []api.BGPNeighbor{
		{
			Address: transitA, AS: 64496, Description: "Transit A", State: api.SessionEstablished, Since: ago(76 * time.Hour),
			RouterID: transitA, Received: 1_021_301, Accepted: 1_019_822, Advertised: 1,
			Refused:     []api.Refused{{Reason: "import policy", Routes: 1_470}, {Reason: "own AS in the AS path", Routes: 9}},
			MaxPrefixes: 1_200_000, ImportPolicy: "transit-in", ExportPolicy: "announce-ours", HoldTime: 90, Negotiated: 90,
			TCPMD5: true, CapsReceived: caps, EndOfRIB: true, InUpdates: 180_312,
			QueueDepth: 311, WorstLag: 0.012,
		},
		{
			Address: transitB, AS: 64497, Description: "Transit B", State: api.SessionEstablished, Since: ago(76 * time.Hour),
			Received: 1_020_977, Accepted: 1_019_514, Advertised: 1, MaxPrefixes: 1_200_000, ImportPolicy: "transit-in", ExportPolicy: "announce-ours",
			HoldTime: 90, Negotiated: 30, CapsReceived: caps[:3], EndOfRIB: true,
			LastDown: &api.Down{Time: ago(77 * time.Hour), Reason: "hold timer expired"},
		},
		{
			Address: addr("203.0.113.80"), AS: 64511, Description: "Example CDN", State: "Idle", Since: ago(12 * time.Minute),
			MaxPrefixes: 500, ImportPolicy: "transit-in", ExportPolicy: "announce-ours", HoldTime: 90,
			LastDown: &api.Down{Time: ago(12 * time.Minute), Reason: "max-prefix 500 reached"}, RetryAt: ago(-3 * time.Minute),
		},
		{
			Address: addr("198.51.100.9"), AS: 64499, State: api.SessionEstablished, Since: ago(time.Minute), Received: 412,
			Refused: []api.Refused{{Reason: "no import policy (RFC 8212)", Routes: 412}}, MaxPrefixes: 1_200_000, HoldTime: 90, Negotiated: 90,
			CapsReceived: caps, Notes: []string{"no import policy: 412 routes refused (RFC 8212)"},
		},
	}
}

// ports gives rates to every port and queue, so that the server adds none.
func ports() []api.Port {
	list := portTable()
	for i := range list {
		list[i].Rates.Window = 5
		for j := range list[i].Queues {
			list[i].Queues[j].Rates.Window = 5
		}
	}
	return list
}

func portTable() []api.Port {
	return []api.Port{
		{
			Name: "xe0", Description: "Transit A, circuit TA-4711", Device: "pci:0000:03:00.0", Driver: "ixgbe", Mode: "native",
			OperStatus: "up", Speed: 10_000_000_000, LastChange: ago(289 * time.Hour), Transitions: 1, MAC: "3c:fd:fe:9e:7b:40", MTU: 1500,
			Addresses: []netip.Prefix{prefix("198.51.100.2/30")},
			Counters:  api.Counters{InPkts: 40_617_283_945, InOctets: 24_370_370_367_000, OutPkts: 39_870_200_001, OutOctets: 31_896_160_000_800},
			Rates:     api.Rates{Window: 5, InPPS: 4_102_113, OutPPS: 3_987_020, InBPS: 4_800_000_000, OutBPS: 4_100_000_000},
			Queues: []api.Queue{
				{ID: 0, Worker: 0, CPU: 2, Counters: api.Counters{InPkts: 20_308_641_972, InOctets: 12_185_185_183_000, OutPkts: 19_935_100_000, OutOctets: 15_948_080_000_000}, Rates: api.Rates{Window: 5, InPPS: 2_052_113, OutPPS: 1_987_020, InBPS: 2_400_000_000, OutBPS: 2_050_000_000}},
				{ID: 1, Worker: 1, CPU: 3, Counters: api.Counters{InPkts: 20_308_641_973, InOctets: 12_185_185_184_000, OutPkts: 19_935_100_001, OutOctets: 15_948_080_000_800}, Rates: api.Rates{Window: 5, InPPS: 2_050_000, OutPPS: 2_000_000, InBPS: 2_400_000_000, OutBPS: 2_050_000_000}},
			},
		},
		{
			Name: "xe1", Device: "pci:0000:03:00.1", Driver: "ixgbe", Mode: "native", OperStatus: "down", LastChange: ago(12 * time.Minute),
			Transitions: 4, MAC: "3c:fd:fe:9e:7b:41", MTU: 1500, Addresses: []netip.Prefix{prefix("198.51.100.6/30")},
			Queues: []api.Queue{{ID: 0, Worker: 0, CPU: 2}, {ID: 1, Worker: 1, CPU: 3}},
		},
		{
			Name: "xe2", Description: "Exchange peering LAN", Device: "xdp:enp5s0f0", Driver: "i40e", Mode: "zero copy", OperStatus: "up", Speed: 10_000_000_000,
			MAC: "3c:fd:fe:9e:7b:42", MTU: 1500, Addresses: []netip.Prefix{prefix("203.0.113.10/24")},
			Counters: api.Counters{InPkts: 1_200_345, InOctets: 96_027_600, OutPkts: 700_001, OutOctets: 56_000_080, Dropped: 12, Punted: 77, Injected: 81, InDiscards: 3, InPause: 8},
			Rates:    api.Rates{Window: 5, InPPS: 811_240, OutPPS: 702_119, InBPS: 3_100_000_000, OutBPS: 2_900_000_000},
			Queues:   []api.Queue{{ID: 0, Worker: 0, CPU: -1, Counters: api.Counters{InPkts: 60_017, Dropped: 12, Punted: 77, InDiscards: 3}}, {ID: 1, Worker: 1, CPU: -1, Counters: api.Counters{InPkts: 1_140_328, OutPkts: 700_001}}},
			Notes:    []string{"95 % of xe2's packets arrive on queue 1 of 2: few flows or a narrow RSS key (routerctl show port xe2)"},
		},
		{
			Name: "xe3", Description: "LAN side", Device: "pci:0000:05:00.1", Driver: "ixgbe", Mode: "native", OperStatus: "up", Speed: 2_500_000_000,
			MAC: "3c:fd:fe:9e:7b:43", MTU: 9000, Addresses: []netip.Prefix{prefix("192.0.2.1/27"), prefix("192.0.2.65/27")},
			Queues: []api.Queue{{ID: 0, Worker: 0, CPU: 2}},
		},
	}
}

func neighbors() []api.Neighbor {
	return []api.Neighbor{
		{Port: "xe0", Address: transitA, MAC: "3c:fd:fe:a1:00:11", State: api.NeighborReachable, Confirmed: ago(4 * time.Second), Used: ago(0)},
		{Port: "xe1", Address: transitB, MAC: "3c:fd:fe:b2:00:07", State: api.NeighborProbe, Confirmed: ago(12 * time.Minute), Used: ago(90 * time.Second)},
		{Port: "xe3", Address: addr("192.0.2.10"), MAC: "52:54:00:12:34:0a", State: api.NeighborStale, Confirmed: ago(3 * time.Hour), Used: ago(2 * time.Hour)},
		{Port: "xe3", Address: addr("192.0.2.11"), State: api.NeighborIncomplete, Used: ago(time.Second), Held: 8, Dropped: 12},
	}
}

func drops() []api.Drop {
	return []api.Drop{
		{Reason: "neighbor-unresolved", Packets: 12, Last: ago(2 * time.Minute), Meaning: "no ARP answer from the next hop; see show neighbor", Ports: []api.PortDrop{{Port: "xe2", Packets: 12}}},
		{Reason: "ttl-expired", Packets: 40_113, Last: ago(0), Meaning: "TTL reached zero; ICMP time exceeded sent to 2,000, suppressed 38,113", Ports: []api.PortDrop{{Port: "xe0", Packets: 40_000}, {Port: "xe3", Packets: 113}}},
		{Reason: "header-checksum", Meaning: "the IPv4 header checksum is wrong: a broken link or device before us"},
		{Reason: "no-route", Packets: 7, Last: ago(time.Hour), Meaning: "the FIB has no route; ICMP net unreachable sent", Ports: []api.PortDrop{{Port: "xe3", Packets: 7}}},
	}
}
