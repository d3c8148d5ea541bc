package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
)

// maxRow bounds one row of a stream, so that a broken server cannot fill memory.
const maxRow = 1 << 20

// FIB asks for FIB entries, one after the other as they arrive.
func (c *Client) FIB(ctx context.Context, q FIBQuery) iter.Seq2[FIBEntry, error] {
	return decoded[FIBEntry](c.FIBRows(ctx, q))
}

// FIBRows is FIB without decoding: each row is one FIBEntry in JSON, valid until
// the next.
func (c *Client) FIBRows(ctx context.Context, q FIBQuery) iter.Seq2[[]byte, error] {
	p := q.Query.params()
	p["port"], p["next-hop"], p["source"] = q.Port, text(q.NextHop), string(q.Source)
	return c.rows(ctx, "/v1/fib", p)
}

// Routes asks for routes of the RIB, one after the other as they arrive.
func (c *Client) Routes(ctx context.Context, q RouteQuery) iter.Seq2[Route, error] {
	return decoded[Route](c.RouteRows(ctx, q))
}

// RouteRows is Routes without decoding: each row is one Route in JSON, valid until
// the next.
func (c *Client) RouteRows(ctx context.Context, q RouteQuery) iter.Seq2[[]byte, error] {
	p := q.Query.params()
	p["source"], p["peer"], p["not-in-fib"] = string(q.Source), text(q.Peer), yes(q.NotInFIB)
	return c.rows(ctx, "/v1/routes", p)
}

func (q Query) params() params {
	p := params{"address": text(q.Address), "longer": yes(q.Longer)}
	if q.Prefix.IsValid() {
		p["prefix"] = q.Prefix.String()
	}
	return p
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// rows makes a request whose answer is a stream.
func (c *Client) rows(ctx context.Context, path string, p params) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		resp, err := c.do(ctx, http.MethodGet, path, p, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		in.Buffer(make([]byte, 64<<10), maxRow)
		in.Split(wholeLine)
		for in.Scan() {
			row := in.Bytes()
			if bytes.HasPrefix(row, []byte(`{"error":`)) {
				e := new(Error)
				if err := json.Unmarshal(row, e); err != nil {
					yield(nil, err)
					return
				}
				yield(nil, fmt.Errorf("the table is incomplete: %w", e))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := in.Err(); errors.Is(err, io.ErrUnexpectedEOF) {
			yield(nil, fmt.Errorf("the table is incomplete: %w: routerd broke the connection off: see its log", ErrInternal))
		} else if err != nil {
			yield(nil, fmt.Errorf("the table is incomplete: %w", err))
		}
	}
}

// wholeLine is a bufio.SplitFunc for lines, of which the last ends in a newline, too:
// a row that was cut off is no row.
func wholeLine(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// decoded turns rows into values.
func decoded[T any](rows iter.Seq2[[]byte, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			var v T
			if err == nil {
				err = json.Unmarshal(row, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// groupOf names the group that may use the socket at path.
func groupOf(path string) string {
	if info, err := os.Stat(path); err == nil {
		if gid, ok := groupOfFile(info); ok {
			if g, err := user.LookupGroupId(gid); err == nil {
				return "group " + g.Name
			}
			return "group " + gid
		}
	}
	return "the group that owns " + filepath.Dir(path)
}
