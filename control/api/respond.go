package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"
	"net/http"
	"runtime/debug"
	"time"
)

const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// answer is a request's outcome as one JSON object.
func (s *Server) answer(fn func(w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := fn(w, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			s.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", typeJSON)
		s.extend(w)
		_, _ = w.Write(buf.Bytes()) // a client that left is no error of ours
	}
}

// refuse answers r with err.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, status := wire(err)
	if r.Context().Err() != nil {
		return
	}
	if status == http.StatusInternalServerError {
		s.log.Error("control request failed", "path", r.URL.Path, "error", err)
	}
	b, _ := json.Marshal(e)
	w.Header().Set("Content-Type", typeJSON)
	s.extend(w)
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// extend gives the client another stall period to take what is written next.
func (s *Server) extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.stall))
}

// pacedWriter writes to a client that has to take each chunk within the stall period.
type pacedWriter struct {
	s *Server
	w http.ResponseWriter
}

func (p pacedWriter) Write(b []byte) (int, error) {
	p.s.extend(p.w)
	return p.w.Write(b)
}

// stream answers r with rows as they come, one JSON object a line. Rows that keep
// does not pass are left out. If single, no row at all is the error CodeNotFound.
func stream[T any](s *Server, w http.ResponseWriter, r *http.Request, rows iter.Seq2[T, error], keep func(*T) bool, single bool, what string) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.refuse(w, r, failf(CodeUnavailable, "%d tables are being read already: try again", cap(s.streams)))
		return
	}
	out := bufio.NewWriterSize(pacedWriter{s, w}, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	begun := false
	for row, err := range rows {
		if r.Context().Err() != nil {
			return
		}
		if err != nil {
			if !begun {
				s.refuse(w, r, err)
				return
			}
			e, _ := wire(err)
			s.log.Error("table broke off", "path", r.URL.Path, "error", err)
			_ = enc.Encode(e)
			_ = out.Flush()
			return
		}
		if !keep(&row) {
			continue
		}
		if !begun {
			w.Header().Set("Content-Type", typeNDJSON)
			begun = true
		}
		if enc.Encode(&row) != nil {
			return
		}
	}
	if !begun && single {
		s.refuse(w, r, failf(CodeNotFound, "%s", what))
		return
	}
	w.Header().Set("Content-Type", typeNDJSON)
	_ = out.Flush()
}

// guarded runs next so that a panic costs one request, and bounds how many run.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.requests <- struct{}{}:
			defer func() { <-s.requests }()
		default:
			s.refuse(w, r, failf(CodeUnavailable, "%d requests are being answered already: try again", cap(s.requests)))
			return
		}
		t := &tracked{ResponseWriter: w}
		defer func() {
			v := recover()
			switch v {
			case nil:
				return
			case http.ErrAbortHandler:
				panic(v)
			}
			s.log.Error("control request panicked", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			if t.begun {
				panic(http.ErrAbortHandler) // a broken connection is the only honest end of half an answer
			}
			s.refuse(w, r, failf(CodeInternal, "routerd failed on this request; its log has the details"))
		}()
		next.ServeHTTP(t, r)
	})
}

// tracked knows whether a part of the answer is out.
type tracked struct {
	http.ResponseWriter
	begun bool
}

func (t *tracked) WriteHeader(status int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracked) Write(b []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }
