package api

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"routerd/config"
)

// maxBody bounds the body of a request, as config bounds a file.
const maxBody = config.MaxSize

// args reads the query of a request, each parameter once, and remembers the first
// error. What was not read is an error, too: a misspelt filter must not pass
// everything.
type args struct {
	values url.Values
	known  []string
	err    *Error
}

func argsOf(r *http.Request) *args {
	v, err := url.ParseQuery(r.URL.RawQuery)
	a := &args{values: v}
	if err != nil {
		a.err = failf(CodeBadRequest, "query %q: %v", r.URL.RawQuery, err)
	}
	return a
}

func (a *args) text(name string) string {
	a.known = append(a.known, name)
	v := a.values[name]
	if len(v) > 1 {
		a.fail("parameter %q is given %d times", name, len(v))
	}
	if len(v) == 0 {
		return ""
	}
	return v[0]
}

func (a *args) flag(name string) bool {
	s := a.text(name)
	if s == "" {
		return a.values.Has(name)
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		a.fail("parameter %s=%q: want true or false", name, s)
	}
	return b
}

func (a *args) addr(name string) netip.Addr {
	s := a.text(name)
	if s == "" {
		return netip.Addr{}
	}
	addr, err := ParseAddress(s)
	if err != nil {
		a.fail("%s: %v", name, err)
	}
	return addr
}

func (a *args) prefix(name string) netip.Prefix {
	s := a.text(name)
	if s == "" {
		return netip.Prefix{}
	}
	p, err := ParsePrefix(s)
	if err != nil {
		a.fail("%s: %v", name, err)
	}
	return p
}

func (a *args) source(name string) Source {
	s := Source(a.text(name))
	if s != "" && !slices.Contains(Sources, s) {
		a.fail("source %q: want one of %s", string(s), joined(Sources))
	}
	return s
}

func (a *args) query() Query {
	q := Query{Address: a.addr("address"), Prefix: a.prefix("prefix"), Longer: a.flag("longer")}
	if q.Address.IsValid() && (q.Prefix.IsValid() || q.Longer) {
		a.fail("address goes with neither prefix nor longer")
	}
	return q
}

func (a *args) fail(format string, v ...any) {
	if a.err == nil {
		a.err = failf(CodeBadRequest, format, v...)
	}
}

// done returns the first error, or complains about parameters nobody read.
func (a *args) done() error {
	if a.err != nil {
		return a.err
	}
	for name := range a.values {
		if !slices.Contains(a.known, name) {
			if len(a.known) == 0 {
				return failf(CodeBadRequest, "unknown parameter %q: this path takes none", name)
			}
			return failf(CodeBadRequest, "unknown parameter %q: this path takes %s", name, joined(a.known))
		}
	}
	return nil
}

// Sources is every Source a filter may name.
var Sources = []Source{SourceConnected, SourceStatic, SourceEBGP, SourceIBGP, SourceUnknown}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// ParseAddress reads an IPv4 address; the error says what is wrong with s.
func ParseAddress(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return netip.Addr{}, failf(CodeBadRequest, "%q is no IPv4 address", s)
	case !a.Is4():
		return netip.Addr{}, failf(CodeBadRequest, "%s is no IPv4 address: routerd forwards IPv4 only", s)
	}
	return a, nil
}

// ParsePrefix reads an IPv4 prefix without host bits; the error says what is wrong
// with s.
func ParsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return netip.Prefix{}, failf(CodeBadRequest, "%q is no IPv4 prefix (ADDRESS/LENGTH)", s)
	case !p.Addr().Is4():
		return netip.Prefix{}, failf(CodeBadRequest, "%s is no IPv4 prefix: routerd forwards IPv4 only", s)
	case p != p.Masked():
		return netip.Prefix{}, failf(CodeBadRequest, "%s has bits set beyond its length: did you mean %s?", s, p.Masked())
	}
	return p, nil
}

// body reads the whole body of r, at most maxBody bytes.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, failf(CodeTooLarge, "configuration is larger than %d MiB", maxBody>>20)
	}
	if err != nil {
		return nil, failf(CodeBadRequest, "reading the request: %v", err)
	}
	return b, nil
}
