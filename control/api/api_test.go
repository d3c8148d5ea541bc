package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/config"
	"routerd/control/api"
	"routerd/control/api/apitest"
)

var update = flag.Bool("update", false, "write testdata/*.golden")

// golden compares got with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// socketDir returns a folder whose name is short enough for a socket in it.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serve serves b on a full and a read-only socket.
func serve(t testing.TB, b api.Backend, log *slog.Logger) (srv *api.Server, full, read string) {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir := socketDir(t)
	full, read = filepath.Join(dir, "rw.sock"), filepath.Join(dir, "ro.sock")
	srv = api.NewServer(api.Options{Backend: b, Log: log})
	err := srv.Listen(t.Context(), []config.Socket{
		{Path: full, Access: config.AccessFull}, {Path: read, Access: config.AccessRead},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	return srv, full, read
}

// plain returns a client that speaks HTTP to a socket.
func plain(t testing.TB, socket string) *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestAnswers(t *testing.T) {
	_, full, _ := serve(t, apitest.Edge(), nil)
	c := plain(t, full)
	for _, tc := range []struct{ name, path string }{
		{"status", "/v1/status"},
		{"fib", "/v1/fib"},
		{"fib_address", "/v1/fib?address=8.8.8.8"},
		{"fib_longer", "/v1/fib?prefix=192.0.2.0/24&longer"},
		{"fib_counts", "/v1/fib/counts"},
		{"route_address", "/v1/routes?address=192.0.2.130"},
		{"bgp", "/v1/bgp"},
		{"ports", "/v1/ports"},
		{"port", "/v1/ports?port=xe2"},
		{"neighbors", "/v1/neighbors"},
		{"drops", "/v1/drops?nonzero"},
		{"drops_port", "/v1/drops?nonzero&port=xe3"},
		{"config", "/v1/config"},
		{"config_plan", "/v1/config/plan"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, err := c.Get("http://routerd" + tc.path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s, %v\n%s", resp.Status, err, body)
			}
			golden(t, tc.name, body)
		})
	}
}

// TestRoundTrip holds that nothing of an answer is lost between Backend and client.
func TestRoundTrip(t *testing.T) {
	f := apitest.Edge()
	_, full, _ := serve(t, f, nil)
	c := api.NewClient(full)
	ctx := t.Context()
	check := func(name string, want, got any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		opts := cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
			cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(want, got, opts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	st, err := c.Status(ctx)
	check("status", f.StatusTable, st, err)
	n, err := c.FIBCounts(ctx)
	check("counts", f.Counts, n, err)
	b, err := c.BGP(ctx, "")
	check("bgp", f.BGPTable, b, err)
	p, err := c.Ports(ctx, "")
	check("ports", f.PortTable, p.Ports, err)
	nb, err := c.Neighbors(ctx, "")
	check("neighbors", f.NeighborTable, nb.Neighbors, err)
	d, err := c.Drops(ctx, "", false)
	check("drops", f.DropTable, d.Drops, err)
	cfg, err := c.Config(ctx)
	check("config", f.RunningConfig, cfg, err)
	var rows []api.FIBEntry
	for e, err := range c.FIB(ctx, api.FIBQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, e)
	}
	check("fib", f.Entries, rows, nil)
	var routes []api.Route
	for r, err := range c.Routes(ctx, api.RouteQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, r)
	}
	for i := range f.RouteTable {
		f.RouteTable[i].Covering = nil
	}
	check("routes", f.RouteTable, routes, nil)
}

func TestFilters(t *testing.T) {
	_, full, _ := serve(t, apitest.Edge(), nil)
	c := api.NewClient(full)
	for _, tc := range []struct {
		name string
		q    api.FIBQuery
		want string
	}{
		{"port", api.FIBQuery{Port: "xe1"}, "100.64.0.0/10 203.0.113.255/32"},
		{"next hop", api.FIBQuery{NextHop: netip.MustParseAddr("192.0.2.11")}, "192.0.2.128/25"},
		{"port and next hop of different ways", api.FIBQuery{Port: "xe0", NextHop: netip.MustParseAddr("192.0.2.11")}, ""},
		{"source", api.FIBQuery{Source: api.SourceStatic}, "10.0.0.0/8 192.0.2.0/24 192.0.2.128/25"},
		{"inside", api.FIBQuery{Query: api.Query{Prefix: netip.MustParsePrefix("192.0.2.0/26"), Longer: true}}, "192.0.2.0/27 192.0.2.1/32"},
	} {
		var got []string
		for e, err := range c.FIB(t.Context(), tc.q) {
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			got = append(got, e.Prefix.String())
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, s, tc.want)
		}
	}
}

func TestErrors(t *testing.T) {
	_, full, read := serve(t, apitest.Edge(), nil)
	for _, tc := range []struct {
		name, socket, method, path string
		body                       string
		status                     int
		code                       api.Code
		says                       string
	}{
		{"no route", full, "GET", "/v1/fib?prefix=8.8.0.0/16", "", 404, api.CodeNotFound, "prefix 8.8.0.0/16 is not in the FIB"},
		{"no RIB route", full, "GET", "/v1/routes?address=9.9.9.9", "", 404, api.CodeNotFound, "no route to 9.9.9.9 in the RIB"},
		{"no port", full, "GET", "/v1/ports?port=xe9", "", 404, api.CodeNotFound, `no port "xe9": there are xe0, xe1, xe2, xe3`},
		{"no neighbour", full, "GET", "/v1/bgp?neighbor=1.2.3.4", "", 404, api.CodeNotFound, `no BGP neighbor "1.2.3.4": there are 198.51.100.1`},
		{"IPv6", full, "GET", "/v1/fib?address=2001:db8::1", "", 400, api.CodeBadRequest, "IPv4 only"},
		{"host bits", full, "GET", "/v1/fib?prefix=192.0.2.1/24", "", 400, api.CodeBadRequest, "did you mean 192.0.2.0/24?"},
		{"misspelt filter", full, "GET", "/v1/fib?prot=xe0", "", 400, api.CodeBadRequest, `unknown parameter "prot": this path takes address, prefix, longer, port`},
		{"twice", full, "GET", "/v1/fib?port=a&port=b", "", 400, api.CodeBadRequest, "2 times"},
		{"source", full, "GET", "/v1/fib?source=ospf", "", 400, api.CodeBadRequest, "want one of connected, static"},
		{"both", full, "GET", "/v1/fib?address=8.8.8.8&longer=true", "", 400, api.CodeBadRequest, "neither prefix nor longer"},
		{"path", full, "GET", "/v1/nothing", "", 404, api.CodeNotFound, "no such path"},
		{"nameless", full, "POST", "/v1/config/apply", "router {}", 400, api.CodeBadRequest, "parameter name is missing"},
		{"empty", full, "POST", "/v1/config/apply?name=x", "", 400, api.CodeBadRequest, "no body"},
		{"large", full, "POST", "/v1/config/apply?name=x", strings.Repeat("#", 4<<20+1), 413, api.CodeTooLarge, "larger than 4 MiB"},
		{"read-only apply", read, "POST", "/v1/config/apply?name=x", "router {}", 403, api.CodeReadOnly, "this control socket is read-only"},
		{"read-only reload", read, "POST", "/v1/config/reload", "", 403, api.CodeReadOnly, "this control socket is read-only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), tc.method, "http://routerd"+tc.path, strings.NewReader(tc.body))
			resp, err := plain(t, tc.socket).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var e api.Error
			if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tc.status || e.Code != tc.code || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%d %s %q, want %d %s and %q", resp.StatusCode, e.Code, e.Message, tc.status, tc.code, tc.says)
			}
		})
	}
}

// TestPaths holds that GET / lists what is served, and that the wrong method is
// told apart from the wrong path.
func TestPaths(t *testing.T) {
	_, full, _ := serve(t, apitest.Edge(), nil)
	c := plain(t, full)
	resp, err := c.Get("http://routerd/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var index struct{ Paths []string }
	if err := json.NewDecoder(resp.Body).Decode(&index); err != nil || len(index.Paths) == 0 {
		t.Fatal(index, err)
	}
	for _, p := range index.Paths {
		method, path, _ := strings.Cut(p, " ")
		for m, want := range map[string]bool{method: true, "DELETE": false} {
			req, _ := http.NewRequestWithContext(t.Context(), m, "http://routerd"+path, nil)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if served := resp.StatusCode != 404 && resp.StatusCode != 405; served != want {
				t.Errorf("%s %s: %s", m, path, resp.Status)
			}
		}
	}
}

// TestBackendErrors holds that a Backend's sentinels reach the client.
func TestBackendErrors(t *testing.T) {
	for _, want := range []error{api.ErrNotFound, api.ErrRefused, api.ErrUnavailable, api.ErrConfigInvalid} {
		f := apitest.Edge()
		f.BackendErr = fmt.Errorf("the reason: %w", want)
		f.ApplyErr = f.BackendErr
		_, full, _ := serve(t, f, nil)
		c := api.NewClient(full)
		if _, err := c.Status(t.Context()); !errors.Is(err, want) || err.Error() != f.BackendErr.Error() {
			t.Errorf("Status: %v, want %v", err, f.BackendErr)
		}
		if _, err := c.ApplyConfig(t.Context(), api.ConfigSource{}); !errors.Is(err, want) {
			t.Errorf("ApplyConfig: %v, want %v", err, want)
		}
		for _, err := range c.FIB(t.Context(), api.FIBQuery{}) {
			if !errors.Is(err, want) {
				t.Errorf("FIB: %v, want %v", err, want)
			}
		}
	}
}

// TestConfigErrors holds that a bad configuration is reported whole, to people and
// to programs.
func TestConfigErrors(t *testing.T) {
	f := apitest.Edge()
	bad := config.Errors{
		{File: "routerd.conf", Line: 38, Column: 3, EndColumn: 9, Message: `unknown argument "adress" in port "xe1"`, Excerpt: "  adress = []"},
		{File: "routerd.conf", Line: 112, Column: 21, EndColumn: 39, Message: "policy is not defined"},
	}
	f.ApplyErr = fmt.Errorf("reload: %w", bad)
	_, full, _ := serve(t, f, nil)
	_, err := api.NewClient(full).ApplyConfig(t.Context(), api.ConfigSource{})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !errors.Is(err, api.ErrConfigInvalid) || e.Message != f.ApplyErr.Error() {
		t.Fatalf("ApplyConfig: %v", err)
	}
	want := []api.ConfigError{api.ConfigError(bad[0]), api.ConfigError(bad[1])}
	if diff := cmp.Diff(want, e.Config); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestApply(t *testing.T) {
	var mu sync.Mutex
	var log strings.Builder
	f := apitest.Edge()
	_, full, read := serve(t, f, slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), nil)))
	c := api.NewClient(full)
	got, err := c.ApplyConfig(t.Context(), api.ConfigSource{Name: "new.conf", Text: []byte("router {}\n")})
	if err != nil || got.Revision != 42 || len(got.Changes) != 2 {
		t.Fatalf("ApplyConfig = %+v, %v", got, err)
	}
	if _, err := c.ApplyConfig(t.Context(), api.ConfigSource{}); err != nil {
		t.Fatal(err)
	}
	calls := f.Applied()
	if len(calls) != 2 || string(calls[0].Source.Text) != "router {}\n" || calls[1].Source.Text != nil {
		t.Errorf("the Backend saw %+v", calls)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := fmt.Sprintf("(uid %d)", os.Getuid()); !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "revision=42") {
		t.Errorf("the log does not say who changed what:\n%s", log.String())
	}
	if _, err := api.NewClient(read).PlanConfig(t.Context(), api.ConfigSource{Name: "x", Text: []byte("router {}")}); err != nil {
		t.Errorf("a plan changes nothing, but the read-only socket refuses it: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
