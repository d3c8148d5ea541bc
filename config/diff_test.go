package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// shipped parses etc/routerd.conf with every old text replaced by the new one.
func shipped(t *testing.T, oldNew ...string) *Config {
	t.Helper()
	src, err := os.ReadFile("../etc/routerd.conf")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(string(src), oldNew[i]) {
			t.Fatalf("the example has no %q", oldNew[i])
		}
	}
	c, err := Parse("routerd.conf", []byte(strings.NewReplacer(oldNew...).Replace(string(src))))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiff(t *testing.T) {
	tests := []struct {
		name   string
		change []string
		plan   string
	}{
		{"nothing", nil, ""},
		{"limit", []string{"max_prefixes = 500", "max_prefixes = 800"},
			"neighbor 203.0.113.80 max_prefixes 500 -> 800 (no session reset)\n"},
		{"mtu", []string{"mtu         = 1500", "mtu = 9000"},
			"port xe3 mtu 1500 -> 9000 (link bounces about 1 s)\n"},
		{"group argument", []string{"ttl_security = true", ""},
			"neighbor 198.51.100.1 ttl_security true -> false (session resets)\n" +
				"neighbor 198.51.100.5 ttl_security true -> false (session resets)\n"},
		{"worst field counts", []string{"Transit B, the spare", "Transit C", "as          = 64497", "as = 64499"},
			"neighbor 198.51.100.5 description \"Transit B, the spare\" -> \"Transit C\"; as 64497 -> 64499 (session resets)\n"},
		{"new name", []string{`neighbor "203.0.113.80"`, `neighbor "203.0.113.81"`},
			"remove neighbor 203.0.113.80\nadd neighbor 203.0.113.81\n"},
		{"policy", []string{"local_pref    = 200", "local_pref = 150"},
			"policy exchange-in term rest changed (no session reset; judges again the routes of 203.0.113.1, 203.0.113.80)\n"},
		{"prefix list", []string{`prefixes = ["192.0.2.0/24"]`, `prefixes = ["192.0.2.0/24", "198.18.0.0/15"]`},
			"prefix_list ours prefixes 192.0.2.0/24 -> 192.0.2.0/24, 198.18.0.0/15\n" +
				"policy announce-ours term ours changed (no session reset; judges again the routes of 198.51.100.1, 198.51.100.5, 203.0.113.1, 203.0.113.80)\n"},
		{"identity", []string{"as   = 64500", "as = 64501"},
			"router as 64500 -> 64501 (all BGP sessions reset)\n"},
		{"workers", []string{`cpus = "2-5"`, `workers = 2`},
			"dataplane cpus 2-5 -> none; workers 4 -> 2 (takes effect when routerd is stopped and started)\n" +
				"port xe0 queues 4 -> 2 (port closes and opens again)\n" +
				"port xe1 queues 4 -> 2 (port closes and opens again)\n" +
				"port xe2 queues 4 -> 2 (port closes and opens again)\n" +
				"port xe3 queues 4 -> 2 (port closes and opens again)\n"},
		{"route", []string{`route "172.16.0.0/12"  { action = "unreachable" }`, `route "172.16.0.0/12" { via = ["192.0.2.9"] }`},
			"route 172.16.0.0/12 action unreachable -> forward; via none -> 192.0.2.9\n"},
		{"bgp", []string{"multipath = 4", "multipath = 2\n graceful_restart = \"0s\""},
			"bgp multipath 4 -> 2; graceful_restart 120s -> 0s (all BGP sessions reset)\n"},
		{"socket", []string{`access = "read"`, ""},
			"socket /var/run/routerd/routerd-ro.sock access read -> full\n"},
		{"address", []string{`"192.0.2.1/27"`, `"192.0.2.1/26"`},
			"port xe3 addresses 192.0.2.1/27 -> 192.0.2.1/26\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if d := cmp.Diff(test.plan, Diff(shipped(t), shipped(t, test.change...)).String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestDiffTyped(t *testing.T) {
	plan := Diff(shipped(t), shipped(t, `as           = 64511`, `as = 64510`))
	want := Plan{{
		Kind: KindNeighbor, Op: Modify, Name: "203.0.113.80",
		Fields:     []Field{{"as", "64511", "64510"}},
		Interrupts: InterruptsSession,
	}}
	if d := cmp.Diff(want, plan, equal); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !plan[0].Has("as") || plan[0].Has("import") {
		t.Errorf("Has does not tell the fields of %v", plan[0])
	}
}

func TestDiffWithoutBGP(t *testing.T) {
	with := shipped(t)
	without := *with
	without.BGP = nil
	if got := Diff(with, &without)[0]; got.Kind != KindBGP || got.Op != Remove || got.Interrupts != InterruptsSessions {
		t.Errorf("leaving BGP: %+v", got)
	}
	if got := Diff(&without, with)[0]; got.Kind != KindBGP || got.Op != Add {
		t.Errorf("starting BGP: %+v", got)
	}
}

// TestDiffIsEmptyOnlyForEqual holds Diff to the canonical text.
func TestDiffIsEmptyOnlyForEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, other := configs().Draw(t, "a"), configs().Draw(t, "other")
		b := withPart(a, other, rapid.IntRange(0, 6).Draw(t, "part"))
		if plan := Diff(a, a); len(plan) > 0 || TextDiff(a, a) != "" {
			t.Fatalf("a differs from itself:\n%s%s", plan, TextDiff(a, a))
		}
		plan, text := Diff(a, b), TextDiff(a, b)
		if len(plan) == 0 && text != "" || len(plan) > 0 && text == "" {
			t.Fatalf("plan:\n%stext:\n%s", plan, text)
		}
		for _, c := range plan {
			if c.Op == Modify && len(c.Fields) == 0 || severity(c.Interrupts) < 0 {
				t.Fatalf("change without content: %+v", c)
			}
		}
	})
}

// withPart is c with one part of other.
func withPart(c, other *Config, part int) *Config {
	changed := *c
	switch part {
	case 0:
		changed.Router = other.Router
	case 1:
		changed.Dataplane.Idle, changed.Dataplane.Buffers = other.Dataplane.Idle, other.Dataplane.Buffers
	case 2:
		changed.Ports = other.Ports
	case 3:
		changed.Routes = other.Routes
	case 4:
		changed.PrefixLists, changed.Policies = other.PrefixLists, other.Policies
	case 5:
		changed.BGP = other.BGP
	case 6:
		changed.Control = other.Control
	}
	return &changed
}

func TestTextDiff(t *testing.T) {
	got := TextDiff(shipped(t), shipped(t,
		"max_prefixes = 500", "max_prefixes = 800",
		"mtu         = 1500", `mtu = 9000`,
		`"192.0.2.1/27"`, `"192.0.2.1/27", "192.0.2.33/27"`,
		`route "10.0.0.0/8"     { action = "unreachable" }`, "",
	))
	want := `  port "xe3" {
-   mtu = 1500
-   addresses = ["192.0.2.1/27"]
+   mtu = 9000
+   addresses = [
+     "192.0.2.1/27",
+     "192.0.2.33/27",
+   ]
- route "10.0.0.0/8" {
-   action = "unreachable"
- }
  bgp {
    group "exchange" {
      neighbor "203.0.113.80" {
-       max_prefixes = 500
+       max_prefixes = 800
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLineDiff applies the edits to the old text, which must give the new one, and
// compares their number with a slow search for the fewest.
func TestLineDiff(t *testing.T) {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := lines.Draw(t, "a"), lines.Draw(t, "b")
		var from, to []string
		changes := 0
		for _, e := range lineDiff(a, b) {
			if e.sign != '+' {
				from = append(from, e.text)
			}
			if e.sign != '-' {
				to = append(to, e.text)
			}
			if e.sign != ' ' {
				changes++
			}
		}
		if !slices.Equal(from, a) || !slices.Equal(to, b) {
			t.Fatalf("edits lead from %q to %q", from, to)
		}
		if want := fewestEdits(a, b); changes != want {
			t.Fatalf("%d edits, want %d", changes, want)
		}
	})
}

func fewestEdits(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) + len(b)
	case a[0] == b[0]:
		return fewestEdits(a[1:], b[1:])
	}
	previous := make([]int, len(b)+1) // of the longest common subsequence
	for _, x := range a {
		row := make([]int, len(b)+1)
		for j, y := range b {
			row[j+1] = max(previous[j+1], row[j])
			if x == y {
				row[j+1] = previous[j] + 1
			}
		}
		previous = row
	}
	return len(a) + len(b) - 2*previous[len(b)]
}

func TestLineDiffOfStrangers(t *testing.T) {
	a, b := strings.Split(strings.Repeat("a\n", 3000), "\n"), strings.Split(strings.Repeat("b\n", 3000), "\n")
	if got := len(lineDiff(a, b)); got != 6001 {
		t.Errorf("%d edits, want 6001", got)
	}
}

func TestWarnings(t *testing.T) {
	got := shipped(t,
		`import       = "transit-in"`, "",
		`neighbor "203.0.113.80"`, `neighbor "203.0.114.80"`,
	).Warnings()
	want := []string{
		"neighbor 198.51.100.1 has no import policy: nothing is accepted from it (RFC 8212)",
		"neighbor 198.51.100.5 has no import policy: nothing is accepted from it (RFC 8212)",
		"neighbor 203.0.114.80 is in no port's subnet: without multihop its session comes up only over an interface outside of routerd",
		"policy transit-in is used by no neighbor",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
