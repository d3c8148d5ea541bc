package main

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/config"
	"routerd/control/rib"
	"routerd/dataplane"
	"routerd/dataplane/attach"
	"routerd/etc"
)

var sameAddresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func addresses(s ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func TestLocalAddressesHaveTheirBroadcasts(t *testing.T) {
	for _, c := range []struct {
		name  string
		ports [][]string
		want  []netip.Addr
	}{
		{"subnet", [][]string{{"192.0.2.1/24"}}, addresses("192.0.2.0", "192.0.2.1", "192.0.2.255")},
		{"odd length", [][]string{{"192.0.2.70/27"}}, addresses("192.0.2.64", "192.0.2.70", "192.0.2.95")},
		{"point to point, RFC 3021", [][]string{{"192.0.2.0/31"}}, addresses("192.0.2.0")},
		{"host", [][]string{{"192.0.2.9/32"}}, addresses("192.0.2.9")},
		{"two ports of one subnet", [][]string{{"192.0.2.1/30"}, {"192.0.2.2/30"}}, addresses("192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3")},
		{"none", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ports []attach.Port
			for _, list := range c.ports {
				var p attach.Port
				for _, a := range list {
					p.Addresses = append(p.Addresses, netip.MustParsePrefix(a))
				}
				ports = append(ports, p)
			}
			if diff := cmp.Diff(c.want, localAddresses(ports), sameAddresses); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRIBGetsThePortsThatExist(t *testing.T) {
	configured := []config.Port{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	status := []attach.PortStatus{
		{Port: attach.Port{Name: "b"}, Index: 4, Up: true},
		{Port: attach.Port{Name: "a"}, Index: -1, Error: "no interface"},
		{Port: attach.Port{Name: "removed"}, Index: 2},
	}
	want := []rib.Port{{Index: 4, Name: "b", Up: true}}
	if diff := cmp.Diff(want, ribPorts(configured, status)); diff != "" {
		t.Error(diff)
	}
}

func TestSweepWaitsForEveryNeighbor(t *testing.T) {
	peers := addresses("192.0.2.1", "192.0.2.2")
	l := &sweepList{peers: map[netip.Addr]bool{peers[0]: true, peers[1]: true}}
	if l.done(netip.MustParseAddr("192.0.2.3")) {
		t.Error("a neighbour that is not waited for ended the wait")
	}
	if l.done(peers[1]) {
		t.Error("the first of two ended the wait")
	}
	if diff := cmp.Diff(peers[:1], l.waiting(), sameAddresses); diff != "" {
		t.Error(diff)
	}
	if !l.done(peers[0]) {
		t.Error("the last did not end the wait")
	}
	if l.done(peers[0]) {
		t.Error("the wait ended twice")
	}
}

func TestDropTimesRememberGrowth(t *testing.T) {
	var d dropTimes
	var totals [dataplane.DropReasons]uint64
	at := time.Unix(1000, 0)
	d.sample(totals, at)
	if got := d.last(dataplane.DropTTL, 0); !got.IsZero() {
		t.Errorf("a reason that never happened was last seen %v", got)
	}
	totals[dataplane.DropTTL] = 3
	d.sample(totals, at.Add(time.Second))
	d.sample(totals, at.Add(time.Minute))
	if got := d.last(dataplane.DropTTL, 3); !got.Equal(at.Add(time.Second)) {
		t.Errorf("last seen %v", got)
	}
	if got := d.last(dataplane.DropTTL, 4); got.Before(at.Add(time.Minute)) {
		t.Errorf("a drop since the last sample was last seen %v", got)
	}
}

func TestOnlyNewPortErrorsRefuseAChange(t *testing.T) {
	port := func(name, err string) attach.PortStatus {
		return attach.PortStatus{Port: attach.Port{Name: name, Device: "xdp:" + name}, Error: err}
	}
	before := attach.PortStatusList{Ports: []attach.PortStatus{port("a", "gone"), port("b", "")}}
	if err := newError(before, attach.PortStatusList{Ports: []attach.PortStatus{port("a", "still gone"), port("b", "")}}); err != nil {
		t.Errorf("an error from before the change: %v", err)
	}
	err := newError(before, attach.PortStatusList{Ports: []attach.PortStatus{port("a", "gone"), port("b", "busy")}})
	if err == nil || err.Error() != `port "b": busy` {
		t.Errorf("a new error: %v", err)
	}
}

func TestServiceFilesNameTheProgram(t *testing.T) {
	for name, text := range map[string]string{"systemd": etc.SystemdUnit, "rc.d": etc.RCScript} {
		if !strings.Contains(text, etc.Program) {
			t.Errorf("%s does not start %s", name, etc.Program)
		}
	}
}

// The configuration in README.md is one that routerd takes.
func TestREADMEsConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var block []string
	for line := range strings.Lines(string(text)) {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented && (len(block) > 0 || code == "router {\n"):
			block = append(block, code)
		case len(block) > 0:
			if _, err := config.Parse("README.md", []byte(strings.Join(block, ""))); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Error("README.md shows no configuration")
}
