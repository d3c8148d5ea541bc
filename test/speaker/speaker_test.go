//go:build linux

package main

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/test/lab"
)

func TestReadPrefixes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prefixes")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("203.0.113.0/24\n0.0.0.0/0\n")
	got, err := readPrefixes(file, []string{"198.51.100.128/25"})
	want := []netip.Prefix{
		netip.MustParsePrefix("198.51.100.128/25"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("0.0.0.0/0"),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"203.0.113.1/24\n", "2001:db8::/32\n", "\n", "203.0.113.0\n"} {
		write("10.0.0.0/8\n" + bad)
		if _, err := readPrefixes(file, nil); err == nil || !strings.Contains(err.Error(), "prefixes:2: ") {
			t.Errorf("%q: got %v, want an error in line 2", bad, err)
		}
	}
}

func TestParseRefusesIncompleteSessions(t *testing.T) {
	for _, args := range [][]string{{}, {"-listen", "192.0.2.1"}, {"-listen", "2001:db8::1", "-neighbor", "192.0.2.2"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestSpeaksWithBIRD(t *testing.T) {
	l := lab.Require(t, "bird", "birdc")
	ctx := lab.Deadline(t, time.Minute)
	try := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	bin, err := lab.Build(l.Dir, "routerd/test/speaker")
	try(err)
	a, err := l.Namespace("speaker")
	try(err)
	b, err := l.Namespace("bird")
	try(err, l.Connect(
		lab.End{Space: a, Name: "eth0", Addresses: []string{"198.51.100.1/30"}},
		lab.End{Space: b, Name: "eth0", Addresses: []string{"198.51.100.2/30"}}))
	bird, err := b.StartBIRD(ctx, "bird", `
		router id 198.51.100.2;
		log stderr all;
		protocol device {}
		protocol static { ipv4; route 192.0.2.0/24 blackhole; }
		protocol bgp upstream {
			local 198.51.100.2 as 64500;
			neighbor 198.51.100.1 as 64496;
			connect delay time 1;
			ipv4 { import all; export where source = RTS_STATIC; };
		}`)
	try(err)
	speaker, err := a.Start("speaker", bin[0], "-listen", "198.51.100.1", "-neighbor", "198.51.100.2",
		"203.0.113.0/24", "198.18.0.0/15")
	try(err)
	expect := func(line string) {
		t.Helper()
		if _, err := speaker.AwaitLine(ctx, line); err != nil {
			t.Fatal(err)
		}
	}
	routes := func(want string) {
		t.Helper()
		try(lab.Await(ctx, "BIRD to have "+want, func() error {
			out, err := bird.Query("show route protocol upstream count")
			if err == nil && !strings.Contains(out, want) {
				err = errors.New(out)
			}
			return err
		}))
	}
	expect("^announced 2$")
	expect("^established 198.51.100.2$")
	expect("^learned 192.0.2.0/24 via 198.51.100.2 as-path 64500$")
	expect("^end-of-rib 198.51.100.2$")
	routes("\n2 of ")
	out, err := bird.Query("show protocols all upstream")
	try(err)
	if !strings.Contains(out, "Established") {
		t.Error(out)
	}
	try(speaker.Signal(syscall.SIGUSR1))
	expect("^withdrew 2$")
	routes("\n0 of ")
	try(speaker.Signal(syscall.SIGUSR2))
	routes("\n2 of ")
	_, err = bird.Query("disable static1")
	try(err)
	expect("^withdrawn 192.0.2.0/24$")
	if code, err := speaker.Stop(ctx, syscall.SIGTERM); code != 0 || err != nil {
		t.Errorf("after SIGTERM: exit code %d, %v", code, err)
	}
	routes("\n0 of ")
}
