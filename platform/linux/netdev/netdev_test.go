//go:build linux

package netdev

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var comparePrefix = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func TestSuggest(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"eth0", nil, "there are none"},
		{"eht0", []string{"eth0", "eth1"}, `did you mean "eth0"? interfaces: eth0, eth1`},
		{"wlan7", []string{"eth0"}, "interfaces: eth0"},
	} {
		if got := suggest(c.name, c.names); got != c.want {
			t.Errorf("suggest(%q, %q) = %q, want %q", c.name, c.names, got, c.want)
		}
	}
}

func TestChannelsForPairs(t *testing.T) {
	for _, c := range []struct {
		name    string
		have    Channels
		pairs   int
		max     int
		command string
	}{
		{"combined", Channels{MaxCombined: 8, Combined: 8}, 8, 8, "ethtool -L eth0 combined 2"},
		{"separate", Channels{MaxRx: 4, MaxTx: 4, Rx: 4, Tx: 2}, 2, 4, "ethtool -L eth0 rx 2 tx 2"},
		{"combined and more receive queues", Channels{MaxRx: 8, MaxCombined: 8, Rx: 2, Combined: 4}, 4, 8, "ethtool -L eth0 combined 2"},
	} {
		if got := c.have.pairs(); got != c.pairs {
			t.Errorf("%s: %d pairs, want %d", c.name, got, c.pairs)
		}
		if got := c.have.maxPairs(); got != c.max {
			t.Errorf("%s: at most %d pairs, want %d", c.name, got, c.max)
		}
		two := c.have.with(2)
		if two.receive() != 2 || two.transmit() != 2 {
			t.Errorf("%s: two pairs are %+v", c.name, two)
		}
		if got := two.command("eth0"); got != c.command {
			t.Errorf("%s: command %q, want %q", c.name, got, c.command)
		}
	}
}

func TestJournalComesBack(t *testing.T) {
	dir := t.TempDir()
	s := State{Name: "eth0", Index: 7}
	want := journal{Interface: "eth0", Index: 7, Boot: "b", SetUp: true, MTU: 1500, VLANStrip: true,
		Channels:  &Channels{Rx: 1, Tx: 2, Other: 3, Combined: 4},
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}}
	if err := want.save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := loadJournal(dir, s, "b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(journal{}), comparePrefix); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	for _, c := range []struct {
		name string
		s    State
		boot string
	}{
		{"another interface of that name", State{Name: "eth0", Index: 8}, "b"},
		{"another boot", s, "c"},
		{"no journal", State{Name: "eth1", Index: 7}, "b"},
	} {
		got, err := loadJournal(dir, c.s, c.boot)
		fresh := journal{Interface: c.s.Name, Index: c.s.Index, Boot: c.boot}
		if diff := cmp.Diff(fresh, got, comparePrefix, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", c.name, err, diff)
		}
	}
	if err := want.remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := want.remove(dir); err != nil {
		t.Error("a second removal: ", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestBrokenJournalIsNotOverlooked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(journalPath(dir, "eth0"), []byte(`{"interface":"eth0","ind`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := loadJournal(dir, State{Name: "eth0", Index: 7}, "b")
	if err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("got %v, want what to do", err)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"interface":"eth0","index":7,"boot":"b","mtu":1500,"addresses":["192.0.2.1/24"]}`))
	f.Add([]byte(`{"interface":"../../etc/passwd","index":-1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := parseJournal(data)
		if err != nil {
			return
		}
		if !validName(j.Interface) || strings.Contains(journalPath("d", j.Interface)[2:], "/") {
			t.Fatalf("%q is accepted as the name of an interface", j.Interface)
		}
		again, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseJournal(again); err != nil {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
	})
}

func FuzzARP(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01senderSENDtargetTARG"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if isARP(frame) && len(frame) < minARPFrame {
			t.Fatalf("%d bytes pass for ARP", len(frame))
		}
	})
}
