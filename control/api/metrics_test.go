package api_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"routerd/control/api"
	"routerd/control/api/apitest"
)

func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(api.NewCollector(apitest.Edge()))
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatal(rec.Body.String())
	}
	golden(t, "metrics", rec.Body.Bytes())
	problems, err := promlint.New(strings.NewReader(rec.Body.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestObserve asks the monitoring paths over a control socket and as on TCP.
func TestObserve(t *testing.T) {
	f := apitest.Edge()
	srv, _, read := serve(t, f, nil)
	tcp := httptest.NewServer(srv.Metrics())
	defer tcp.Close()
	ask := func(c *http.Client, url string) (int, string) {
		t.Helper()
		resp, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	for base, c := range map[string]*http.Client{"http://routerd": plain(t, read), tcp.URL: tcp.Client()} {
		if code, body := ask(c, base+"/metrics"); code != 200 || !strings.Contains(body, "routerd_port_up") || !strings.Contains(body, "go_goroutines") {
			t.Errorf("/metrics: %d\n%s", code, body)
		}
		if code, body := ask(c, base+"/healthz"); code != 200 || body != "ok\n" {
			t.Errorf("/healthz: %d %s", code, body)
		}
	}
	if code, _ := ask(tcp.Client(), tcp.URL+"/v1/status"); code != 404 {
		t.Errorf("the API is open on TCP: %d", code)
	}

	f = apitest.Edge()
	f.StatusTable.NotReady = []string{"waiting for End-of-RIB of 198.51.100.1", "port xe1 is down"}
	_, _, read = serve(t, f, nil)
	c := plain(t, read)
	if code, body := ask(c, "http://routerd/readyz"); code != 503 || body != "waiting for End-of-RIB of 198.51.100.1\nport xe1 is down\n" {
		t.Errorf("/readyz: %d %s", code, body)
	}
}

// TestMetricsOfBrokenBackend holds that a Backend that fails does not fail the scrape.
func TestMetricsOfBrokenBackend(t *testing.T) {
	f := apitest.Edge()
	f.BackendErr = errors.New("not now")
	srv := api.NewServer(api.Options{Backend: f, Log: slog.New(slog.DiscardHandler)})
	rec := httptest.NewRecorder()
	srv.Metrics().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "go_goroutines") {
		t.Errorf("%d\n%s", rec.Code, rec.Body.String())
	}
}
