package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// observe adds the paths that monitoring asks: /metrics, /healthz (is everything
// that should run running) and /readyz (may traffic come).
func (s *Server) observe(mux *http.ServeMux) {
	mux.Handle("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", s.probe(func(st Status) []string { return st.Unhealthy }))
	mux.HandleFunc("GET /readyz", s.probe(func(st Status) []string { return st.NotReady }))
}

// probe answers 200 "ok", or 503 with one line for each thing that is wrong.
func (s *Server) probe(wrong func(Status) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		st, err := s.backend.Status(ctx)
		lines := wrong(st)
		if err != nil {
			lines = []string{err.Error()}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if len(lines) == 0 {
			fmt.Fprintln(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, strings.Join(lines, "\n"))
	}
}
