package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// DefaultSocket is where routerd listens unless routerd.conf says otherwise.
func DefaultSocket() string {
	if runtime.GOOS == "linux" {
		return "/run/routerd/routerd.sock"
	}
	return "/var/run/routerd/routerd.sock"
}

// Client asks routerd on one control socket. Its errors wrap the sentinels of this
// package. It may be used by any number of goroutines.
type Client struct {
	socket string
	http   http.Client
}

// NewClient returns a client of the control socket at path. It does not connect yet.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	return &Client{path, http.Client{Transport: &http.Transport{DialContext: dial, ResponseHeaderTimeout: changeTime}}}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks for the state of both processes.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status", nil)
}

// FIBCounts asks how many prefixes the FIB holds and how full it is.
func (c *Client) FIBCounts(ctx context.Context) (FIBCounts, error) {
	return get[FIBCounts](ctx, c, "/v1/fib/counts", nil)
}

// BGP asks for every session, or for the one of neighbor: an address or description.
func (c *Client) BGP(ctx context.Context, neighbor string) (BGP, error) {
	return get[BGP](ctx, c, "/v1/bgp", params{"neighbor": neighbor})
}

// Ports asks for every port, or for the one called name.
func (c *Client) Ports(ctx context.Context, name string) (Ports, error) {
	return get[Ports](ctx, c, "/v1/ports", params{"port": name})
}

// Neighbors asks for the ARP table, of one port unless port is empty.
func (c *Client) Neighbors(ctx context.Context, port string) (Neighbors, error) {
	return get[Neighbors](ctx, c, "/v1/neighbors", params{"port": port})
}

// Drops asks for every drop reason, of one port unless port is empty.
func (c *Client) Drops(ctx context.Context, port string, nonzero bool) (Drops, error) {
	return get[Drops](ctx, c, "/v1/drops", params{"port": port, "nonzero": yes(nonzero)})
}

// Config asks for the running configuration.
func (c *Client) Config(ctx context.Context) (Config, error) {
	return get[Config](ctx, c, "/v1/config", nil)
}

// PlanConfig asks what applying src would change.
func (c *Client) PlanConfig(ctx context.Context, src ConfigSource) (ConfigPlan, error) {
	if src.Text == nil {
		return get[ConfigPlan](ctx, c, "/v1/config/plan", nil)
	}
	return call[ConfigPlan](ctx, c, http.MethodPost, "/v1/config/plan", params{"name": src.Name}, src.Text)
}

// ApplyConfig makes src the running configuration.
func (c *Client) ApplyConfig(ctx context.Context, src ConfigSource) (ConfigApplied, error) {
	if src.Text == nil {
		return call[ConfigApplied](ctx, c, http.MethodPost, "/v1/config/reload", nil, nil)
	}
	return call[ConfigApplied](ctx, c, http.MethodPost, "/v1/config/apply", params{"name": src.Name}, src.Text)
}

// params is a query; empty values are left out.
type params map[string]string

func (p params) encode() string {
	v := url.Values{}
	for name, value := range p {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

func yes(b bool) string {
	if b {
		return strconv.FormatBool(b)
	}
	return ""
}

func get[T any](ctx context.Context, c *Client, path string, p params) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, p, nil)
}

// call makes one request and decodes its answer.
func call[T any](ctx context.Context, c *Client, method, path string, p params, body []byte) (T, error) {
	var v T
	resp, err := c.do(ctx, method, path, p, body)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return v, fmt.Errorf("answer of routerd at %s: %w", c.socket, err)
	}
	return v, nil
}

// do makes one request. The answer it returns has status 200 and an open body.
func (c *Client) do(ctx context.Context, method, path string, p params, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://routerd"+path+p.encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.explain(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	e := new(Error)
	if json.Unmarshal(text, e) != nil || e.Code == "" {
		return nil, fmt.Errorf("%w: %s: %s", ErrInternal, resp.Status, bytes.TrimSpace(text))
	}
	return nil, e
}

// explain says why routerd could not be asked, and what to do about it.
func (c *Client) explain(err error) error {
	var why string
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		why = "there is no such socket: is routerd running? (--socket names another)"
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "the socket is left over and nobody answers: routerd has died, start it again"
	case errors.Is(err, fs.ErrPermission):
		why = "permission denied: you have to be in " + groupOf(c.socket) + " (or root)"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w: %s: routerd broke the connection off: see its log", ErrInternal, c.socket)
	default:
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err
		}
		why = err.Error()
	}
	return fmt.Errorf("%w: %s: %s", ErrUnreachable, c.socket, why)
}
