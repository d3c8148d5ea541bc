package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"routerd/control/api"
	"routerd/control/api/apitest"
)

// TestLongStream reads a table that fits into no buffer.
func TestLongStream(t *testing.T) {
	f := apitest.Edge()
	f.RepeatEntries = 2000
	_, full, _ := serve(t, f, nil)
	rows := 0
	for _, err := range api.NewClient(full).FIB(t.Context(), api.FIBQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if want := 2001 * len(f.Entries); rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// TestClientLeaves holds that iteration stops soon after its client has gone.
func TestClientLeaves(t *testing.T) {
	f := apitest.Edge()
	f.RepeatEntries = 1 << 30
	done := make(chan int, 1)
	f.OnStreamFinish = func(rows int) { done <- rows }
	_, full, _ := serve(t, f, nil)
	for _, err := range api.NewClient(full).FIB(t.Context(), api.FIBQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-done // hangs until the test's deadline if it goes on
}

// TestSlowClient holds that a client that does not read delays nobody else.
func TestSlowClient(t *testing.T) {
	f := apitest.Edge()
	f.RepeatEntries = 1 << 30
	done := make(chan int, 1)
	f.OnStreamFinish = func(rows int) { done <- rows }
	_, full, _ := serve(t, f, nil)
	conn, err := net.Dial("unix", full)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /v1/fib HTTP/1.1\r\nHost: routerd\r\n\r\n")
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	c := api.NewClient(full)
	for range 100 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	<-done
}

// TestBrokenStream holds that half a table never looks like a whole one.
func TestBrokenStream(t *testing.T) {
	f := apitest.Edge()
	f.BackendErr, f.FailAfterRows = errors.New("the RIB is gone"), 3
	_, full, _ := serve(t, f, nil)
	rows := 0
	var last error
	for _, err := range api.NewClient(full).FIB(t.Context(), api.FIBQuery{}) {
		if last = err; err == nil {
			rows++
		}
	}
	if rows != 3 || !errors.Is(last, api.ErrInternal) || !strings.Contains(last.Error(), "incomplete: the RIB is gone") {
		t.Errorf("%d rows, then %v", rows, last)
	}
}

func TestPanic(t *testing.T) {
	f := apitest.Edge()
	f.Panic = true
	_, full, _ := serve(t, f, nil)
	c := api.NewClient(full)
	if _, err := c.FIBCounts(t.Context()); !errors.Is(err, api.ErrInternal) {
		t.Errorf("a panic before the answer: %v", err)
	}
	f.OnYield = func(n int) {
		if n == 5000 {
			panic("in the middle of a table")
		}
	}
	f.RepeatEntries = 1000
	var last error
	for _, err := range c.FIB(t.Context(), api.FIBQuery{}) {
		last = err
	}
	if !errors.Is(last, api.ErrInternal) {
		t.Errorf("a panic within the answer: %v", last)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("after the panics: %v", err)
	}
}

// TestTooMany holds that readers of tables are bounded, and only they.
func TestTooMany(t *testing.T) {
	f := apitest.Edge()
	f.RepeatEntries = 1 << 30
	_, full, _ := serve(t, f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := plain(t, full)
	for range 16 {
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://routerd/v1/fib", nil)
		resp, err := c.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		defer resp.Body.Close()
	}
	typed := api.NewClient(full)
	for _, err := range typed.FIB(t.Context(), api.FIBQuery{}) {
		if !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("the 17th stream: %v", err)
		}
		break
	}
	if _, err := typed.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConcurrent(t *testing.T) {
	_, full, read := serve(t, apitest.Edge(), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := api.NewClient([]string{full, read}[i%2])
			defer c.Close()
			for range 20 {
				_, err1 := c.Ports(t.Context(), "")
				_, err2 := c.BGP(t.Context(), "transit a")
				for _, err := range c.FIB(t.Context(), api.FIBQuery{Query: api.Query{Address: netip.MustParseAddr("8.8.8.8")}}) {
					if err != nil {
						t.Error(err)
					}
				}
				if err := errors.Join(err1, err2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkStream streams a table of 900,000 rows through socket and client.
func BenchmarkStream(b *testing.B) {
	f := apitest.Edge()
	f.RepeatEntries = 99_999
	_, full, _ := serve(b, f, nil)
	c := api.NewClient(full)
	for b.Loop() {
		rows := 0
		for _, err := range c.FIBRows(b.Context(), api.FIBQuery{}) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		b.ReportMetric(float64(rows), "rows/op")
	}
}
