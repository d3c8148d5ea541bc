package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routerd/config"
	"routerd/control/api"
	"routerd/control/api/apitest"
)

var update = flag.Bool("update", false, "write testdata/*.golden")

// golden compares got with testdata/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// socketDir returns a folder whose name is short enough for a socket in it.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serve serves b and returns its control socket.
func serve(t testing.TB, b api.Backend, access config.Access) string {
	t.Helper()
	socket := filepath.Join(socketDir(t), "routerd.sock")
	srv := api.NewServer(api.Options{Backend: b, Log: slog.New(slog.DiscardHandler)})
	if err := srv.Listen(t.Context(), []config.Socket{{Path: socket, Access: access}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	return socket
}

// routerctl runs one command at apitest.Now.
func routerctl(t *testing.T, socket string, args ...string) (code int, out, messages string) {
	t.Helper()
	var o, m bytes.Buffer
	code = run(append([]string{"--socket", socket}, args...), strings.NewReader("router {}\n"), &o, &m,
		func() time.Time { return apitest.Now })
	return code, o.String(), m.String()
}

func TestOutput(t *testing.T) {
	socket := serve(t, apitest.Edge(), config.AccessFull)
	for name, line := range map[string]string{
		"fib":              "show fib",
		"fib_address":      "show fib 8.8.8.8",
		"fib_multipath":    "show fib 192.0.2.130",
		"fib_connected":    "show fib 192.0.2.5",
		"fib_local":        "show fib 192.0.2.1",
		"fib_blackhole":    "show fib 192.0.2.0/24",
		"fib_unreachable":  "show fib 10.1.2.3",
		"fib_stale":        "show fib 100.64.0.0/10",
		"fib_longer":       "show fib 192.0.2.0/24 --longer",
		"fib_port":         "show fib --port xe1",
		"fib_none":         "show fib --source static --port xe0",
		"fib_count":        "show fib --count",
		"route_address":    "show route 192.0.2.130",
		"route_bgp":        "show route for 8.8.8.8",
		"route_all":        "show route",
		"route_not_in_fib": "show route --not-in-fib",
		"bgp":              "show bgp",
		"bgp_neighbor":     "show bgp neighbor 198.51.100.1",
		"bgp_idle":         "show bgp neighbor 203.0.113.80",
		"bgp_no_policy":    "show bgp neighbor 198.51.100.9",
		"port":             "show port",
		"port_one":         "show port xe0",
		"port_notes":       "show port xe2",
		"neighbor":         "show neighbor",
		"neighbor_port":    "show neighbor --port xe3",
		"drops":            "show drops",
		"drops_nonzero":    "show drops --nonzero",
		"drops_port":       "show drops --port xe3",
		"status":           "show status",
		"config_show":      "config show",
		"config_diff":      "config diff",
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(line)
			code, out, messages := routerctl(t, socket, args...)
			if code != exitOK || messages != "" {
				t.Errorf("%s: exit code %d, %s", line, code, messages)
			}
			golden(t, name, out)
			for i, l := range strings.Split(out, "\n") {
				if strings.TrimRight(l, " ") != l {
					t.Errorf("%s: line %d ends in spaces: %q", line, i+1, l)
				}
			}

			code, out, _ = routerctl(t, socket, append(args, "-o", "json")...)
			if code != exitOK || !json.Valid([]byte(out)) {
				t.Errorf("%s -o json: exit code %d\n%s", line, code, out)
			}
			golden(t, name+"_json", out)
		})
	}
}

// TestApply keeps its user's name out of golden files.
func TestApply(t *testing.T) {
	f := apitest.Edge()
	socket := serve(t, f, config.AccessFull)
	file := filepath.Join(t.TempDir(), "new.conf")
	if err := os.WriteFile(file, []byte("router {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, messages := routerctl(t, socket, "config", "apply", file)
	want := "plan: neighbor 203.0.113.80 max_prefixes 500 -> 800 (no session reset)\n" +
		"      port xe3 mtu 9000 -> 1500 (link bounces about 1 s)\napplied as revision 42 by "
	if code != exitOK || !strings.HasPrefix(out, want) || !strings.HasPrefix(messages, "note: /etc/routerd/routerd.conf does not hold what runs") {
		t.Errorf("exit code %d\n%s%s", code, out, messages)
	}
	if code, _, messages := routerctl(t, socket, "config", "apply", "-"); code != exitOK {
		t.Errorf("from standard input: exit code %d, %s", code, messages)
	}
	if code, _, messages := routerctl(t, socket, "config", "apply"); code != exitOK || messages != "" {
		t.Errorf("routerd's own file: exit code %d, %s", code, messages)
	}
	var got []api.ConfigSource
	for _, a := range f.Applied() {
		got = append(got, a.Source)
	}
	text := []byte("router {}\n")
	if diff := cmp.Diff([]api.ConfigSource{{Name: "new.conf", Text: text}, {Name: "standard input", Text: text}, {}}, got); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestExitCodes(t *testing.T) {
	full, read := serve(t, apitest.Edge(), config.AccessFull), serve(t, apitest.Edge(), config.AccessRead)
	broken := apitest.Edge()
	broken.ApplyErr = config.Errors{{File: "new.conf", Line: 1, Column: 1, Message: "a message", Excerpt: "router {}"}}
	invalid := serve(t, broken, config.AccessFull)
	dir := socketDir(t)
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	bad := filepath.Join(dir, "bad.conf")
	if err := os.WriteFile(bad, []byte("port \"xe0\" {\n  adress = 1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		socket, line string
		code         int
		says         string
	}{
		{full, "sh fib 8.8.8.8", exitOK, ""},
		{full, "sh bgp nei 198.51.100.5", exitOK, ""},
		{full, "show bgp neighbor transit", exitNotFound, "there are 198.51.100.1"},
		{full, "show s", exitOK, ""},
		{full, "", exitUsage, "a command is missing"},
		{full, "show", exitUsage, "Available Commands"},
		{full, "show x", exitUsage, `unknown command "x" after "routerctl show": there are bgp, drops, fib`},
		{full, "co show", exitUsage, `"co" after "routerctl" may be completion or config`},
		{full, "show fib 1.2.3.4 5.6.7.8", exitUsage, "at most one argument"},
		{full, "show fib 300.1.1.1", exitUsage, `"300.1.1.1" is no IPv4 address`},
		{full, "show fib 2001:db8::/32", exitUsage, "IPv4 only"},
		{full, "show fib 192.0.2.1/24", exitUsage, "did you mean 192.0.2.0/24?"},
		{full, "show fib 192.0.2.1 --longer", exitUsage, "--longer goes with a prefix"},
		{full, "show fib --count --port xe0", exitUsage, "whole FIB"},
		{full, "show fib --source ospf", exitUsage, "want one of connected, static"},
		{full, "show fib --next-hop x", exitUsage, "no IPv4 address"},
		{full, "show route --peer x", exitUsage, "no IPv4 address"},
		{full, "show bgp neighbor", exitUsage, "one argument"},
		{full, "show bgp peer", exitUsage, "there is neighbor"},
		{full, "show port --bogus", exitUsage, "unknown flag: --bogus"},
		{full, "show port -o yaml", exitUsage, "want text or json"},
		{full, "show fib 8.8.0.0/16", exitNotFound, "prefix 8.8.0.0/16 is not in the FIB"},
		{full, "show route 9.9.9.9", exitNotFound, "no route to 9.9.9.9"},
		{full, "show route 9.9.9.9 -o json", exitNotFound, "no route to 9.9.9.9"},
		{full, "show port xe9", exitNotFound, `no port "xe9": there are xe0`},
		{full, "show drops --port xe9", exitNotFound, `no port "xe9"`},
		{read, "show status", exitOK, ""},
		{read, "config apply", exitFailed, "read-only"},
		{full, "config apply /nonexistent", exitFailed, "no such file"},
		{full, "config check /nonexistent", exitFailed, "no such file"},
		{full, "config check " + bad, exitConfig, `bad.conf:2,3`},
		{invalid, "config apply", exitConfig, "new.conf:1,1: a message\n  1: router {}\n1 error"},
		{invalid, "config diff", exitConfig, "new.conf:1,1: a message"},
		{filepath.Join(dir, "none"), "show status", exitUnreachable, "is routerd running?"},
		{dead, "show fib", exitUnreachable, "routerd has died"},
		{dead, "version", exitOK, ""},
	} {
		code, out, messages := routerctl(t, tc.socket, strings.Fields(tc.line)...)
		if code != tc.code || !strings.Contains(messages, tc.says) {
			t.Errorf("routerctl %s: exit code %d, want %d and %q:\n%s", tc.line, code, tc.code, tc.says, messages)
		}
		if code != exitOK && out != "" {
			t.Errorf("routerctl %s: a failure wrote data:\n%s", tc.line, out)
		}
		if code != exitOK && messages == "" {
			t.Errorf("routerctl %s: a failure without a word", tc.line)
		}
	}
}

// TestCheckNeedsNoDaemon checks the shipped example and a broken file.
func TestCheckNeedsNoDaemon(t *testing.T) {
	none := filepath.Join(socketDir(t), "none")
	example := filepath.Join("..", "..", "etc", "routerd.conf")
	if code, out, messages := routerctl(t, none, "config", "check", example); code != exitOK || !strings.HasPrefix(out, example+": valid: ports 4") {
		t.Errorf("exit code %d\n%s%s", code, out, messages)
	}
	bad := filepath.Join(t.TempDir(), "bad.conf")
	if err := os.WriteFile(bad, []byte("port \"xe0\" {\n  adress = 1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := routerctl(t, none, "config", "check", bad, "-o", "json")
	var v struct {
		Valid  bool
		Errors []api.ConfigError `json:"config-errors"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitConfig || v.Valid || len(v.Errors) == 0 {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}

func TestCompletion(t *testing.T) {
	socket := serve(t, apitest.Edge(), config.AccessRead)
	for line, want := range map[string]string{
		"show port ":                        "xe3\tLAN side",
		"show bgp neighbor ":                "198.51.100.1\tTransit A",
		"show fib --port ":                  "xe0",
		"show fib --source ":                "ebgp",
		"show status --output ":             "json",
		"--socket /nowhere show port ":      ":4",
		"show ":                             "drops\tWhy packets",
		"show bgp neighbor 198.51.100.1 \"": ":4",
	} {
		words := strings.Split(line, " ")
		code, out, _ := routerctl(t, socket, append([]string{"__complete"}, words...)...)
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("complete %q: exit code %d, want %q in\n%s", line, code, want, out)
		}
	}
}
