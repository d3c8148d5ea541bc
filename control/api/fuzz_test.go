package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"routerd/config"
)

// FuzzRequest throws requests at a server over a Backend that always succeeds: it
// must neither panic nor blame itself for what the client sent.
func FuzzRequest(f *testing.F) {
	s := NewServer(Options{Backend: empty{}, Log: slog.New(slog.DiscardHandler)})
	conn := &accepted{socket: "full", peer: nobody}
	s.listeners["full"] = &listener{Socket: config.Socket{Access: config.AccessFull}}
	for _, p := range paths["paths"] {
		method, path, _ := bytes.Cut([]byte(p), []byte(" "))
		f.Add(string(method), string(path), "", []byte(nil))
	}
	f.Add("GET", "/v1/fib", "address=8.8.8.8", []byte(nil))
	f.Add("GET", "/v1/fib", "prefix=10.0.0.0/8&longer&port=xe0&next-hop=192.0.2.1&source=ebgp", []byte(nil))
	f.Add("GET", "/v1/routes", "not-in-fib=maybe&peer=::1%25eth0;", []byte(nil))
	f.Add("POST", "/v1/config/apply", "name=%zz", []byte("router {}"))
	f.Add("POST", "/v1/config/plan", "name=routerd.conf", []byte{0, 0xff, '"'})
	f.Fuzz(func(t *testing.T, method, path, query string, body []byte) {
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Host: "routerd",
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody}
		if len(body) > 0 {
			r = r.Clone(t.Context())
			r.Body = httptest.NewRequest("POST", "/", bytes.NewReader(body)).Body
		}
		r = r.WithContext(withConn(t.Context(), conn))
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s %q?%q: %d %s", method, path, query, w.Code, w.Body)
		}
	})
}
