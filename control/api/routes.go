package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"routerd/config"
)

// mux is every path of the API. Paths under /v1 keep their meaning; a change that
// breaks a client gets a new prefix.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	get := func(path string, fn func(ctx context.Context, a *args) (any, error)) {
		mux.Handle("GET "+path, s.answer(func(_ http.ResponseWriter, r *http.Request) (any, error) {
			ctx, cancel := context.WithTimeout(r.Context(), answerTime)
			defer cancel()
			return fn(ctx, argsOf(r))
		}))
	}
	get("/v1/status", s.status)
	get("/v1/fib/counts", s.fibCounts)
	get("/v1/bgp", s.bgp)
	get("/v1/ports", s.ports)
	get("/v1/neighbors", s.neighbors)
	get("/v1/drops", s.drops)
	get("/v1/config", s.config)
	mux.HandleFunc("GET /v1/fib", s.fib)
	mux.HandleFunc("GET /v1/routes", s.routes)

	mux.Handle("GET /v1/config/plan", s.answer(s.planFile))
	mux.Handle("POST /v1/config/plan", s.answer(s.planText))
	mux.Handle("POST /v1/config/apply", s.change(s.textSource))
	mux.Handle("POST /v1/config/reload", s.change(s.fileSource))
	s.observe(mux)
	mux.HandleFunc("GET /{$}", s.answer(func(http.ResponseWriter, *http.Request) (any, error) { return paths, nil }))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, failf(CodeNotFound, "no such path: %s (GET / lists them)", r.URL.Path))
	})
	return mux
}

// paths answers GET /: what there is to ask.
var paths = map[string][]string{"paths": {
	"GET /v1/status",
	"GET /v1/fib", "GET /v1/fib/counts", "GET /v1/routes", "GET /v1/bgp",
	"GET /v1/ports", "GET /v1/neighbors", "GET /v1/drops",
	"GET /v1/config", "GET /v1/config/plan",
	"POST /v1/config/plan", "POST /v1/config/apply", "POST /v1/config/reload",
	"GET /metrics", "GET /healthz", "GET /readyz",
}}

func (s *Server) status(ctx context.Context, a *args) (any, error) {
	if err := a.done(); err != nil {
		return nil, err
	}
	st, err := s.backend.Status(ctx)
	for _, list := range []*[]string{&st.Unhealthy, &st.NotReady, &st.Warnings} {
		if *list == nil {
			*list = []string{}
		}
	}
	return st, err
}

func (s *Server) fib(w http.ResponseWriter, r *http.Request) {
	a := argsOf(r)
	q := FIBQuery{Query: a.query(), Port: a.text("port"), NextHop: a.addr("next-hop"), Source: a.source("source")}
	if err := a.done(); err != nil {
		s.refuse(w, r, err)
		return
	}
	stream(s, w, r, s.backend.FIB(r.Context(), q), q.Match, q.Single(), q.missing("FIB"))
}

func (s *Server) routes(w http.ResponseWriter, r *http.Request) {
	a := argsOf(r)
	q := RouteQuery{Query: a.query(), Source: a.source("source"), Peer: a.addr("peer"), NotInFIB: a.flag("not-in-fib")}
	if err := a.done(); err != nil {
		s.refuse(w, r, err)
		return
	}
	stream(s, w, r, s.backend.Routes(r.Context(), q), q.Match, q.Single(), q.missing("RIB"))
}

// missing says that q found nothing in table.
func (q Query) missing(table string) string {
	if q.Address.IsValid() {
		return fmt.Sprintf("no route to %s in the %s", q.Address, table)
	}
	return fmt.Sprintf("prefix %s is not in the %s (--longer shows what is inside it)", q.Prefix, table)
}

func (s *Server) fibCounts(ctx context.Context, a *args) (any, error) {
	if err := a.done(); err != nil {
		return nil, err
	}
	return s.backend.FIBCounts(ctx)
}

func (s *Server) bgp(ctx context.Context, a *args) (any, error) {
	name := a.text("neighbor")
	if err := a.done(); err != nil {
		return nil, err
	}
	b, err := s.backend.BGP(ctx)
	if err != nil || name == "" {
		b.Neighbors = slices.Concat([]BGPNeighbor{}, b.Neighbors)
		return b, err
	}
	n, ok := b.Find(name)
	if !ok {
		known := make([]string, len(b.Neighbors))
		for i, n := range b.Neighbors {
			known[i] = n.Address.String()
		}
		return nil, unknown("BGP neighbor", name, known)
	}
	b.Neighbors = []BGPNeighbor{n}
	return b, nil
}

// unknown is the error that name is none of the things known.
func unknown(what, name string, known []string) error {
	if len(known) == 0 {
		return failf(CodeNotFound, "no %s %q: none is configured", what, name)
	}
	return failf(CodeNotFound, "no %s %q: there are %s", what, name, strings.Join(known, ", "))
}

func (s *Server) ports(ctx context.Context, a *args) (any, error) {
	name := a.text("port")
	if err := a.done(); err != nil {
		return nil, err
	}
	ports, err := s.portsNow(ctx)
	if err != nil {
		return nil, err
	}
	if name != "" {
		i := slices.IndexFunc(ports, func(p Port) bool { return p.Name == name })
		if i < 0 {
			return nil, unknown("port", name, namesOf(ports))
		}
		ports = ports[i : i+1]
	}
	return Ports{slices.Concat([]Port{}, ports)}, nil
}

func namesOf(ports []Port) []string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return names
}

func (s *Server) neighbors(ctx context.Context, a *args) (any, error) {
	port := a.text("port")
	if err := a.done(); err != nil {
		return nil, err
	}
	if err := s.portExists(ctx, port); err != nil {
		return nil, err
	}
	list, err := s.backend.Neighbors(ctx)
	if err != nil {
		return nil, err
	}
	out := Neighbors{[]Neighbor{}}
	for _, n := range list {
		if port == "" || n.Port == port {
			out.Neighbors = append(out.Neighbors, n)
		}
	}
	return out, nil
}

func (s *Server) drops(ctx context.Context, a *args) (any, error) {
	port, nonzero := a.text("port"), a.flag("nonzero")
	if err := a.done(); err != nil {
		return nil, err
	}
	if err := s.portExists(ctx, port); err != nil {
		return nil, err
	}
	list, err := s.backend.Drops(ctx)
	if err != nil {
		return nil, err
	}
	out := Drops{[]Drop{}}
	for _, d := range list {
		if port != "" {
			d = d.on(port)
		}
		if d.Packets > 0 || !nonzero {
			out.Drops = append(out.Drops, d)
		}
	}
	return out, nil
}

// on returns the part of d that arrived on port. When it happened there last is not
// known.
func (d Drop) on(port string) Drop {
	part := Drop{Reason: d.Reason, Meaning: d.Meaning}
	for _, p := range d.Ports {
		if p.Port == port {
			part.Packets += p.Packets
			part.Ports = append(part.Ports, p)
		}
	}
	return part
}

func (s *Server) portExists(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	ports, err := s.backend.Ports(ctx)
	if err != nil {
		return err
	}
	if names := namesOf(ports); !slices.Contains(names, name) {
		return unknown("port", name, names)
	}
	return nil
}

func (s *Server) config(ctx context.Context, a *args) (any, error) {
	if err := a.done(); err != nil {
		return nil, err
	}
	return s.backend.Config(ctx)
}

func (s *Server) planFile(_ http.ResponseWriter, r *http.Request) (any, error) {
	if err := argsOf(r).done(); err != nil {
		return nil, err
	}
	return s.plan(r.Context(), ConfigSource{})
}

func (s *Server) planText(w http.ResponseWriter, r *http.Request) (any, error) {
	src, err := s.textSource(w, r)
	if err != nil {
		return nil, err
	}
	return s.plan(r.Context(), src)
}

func (s *Server) plan(ctx context.Context, src ConfigSource) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	p, err := s.backend.PlanConfig(ctx, src)
	p.Changes = slices.Concat([]string{}, p.Changes)
	return p, err
}

// textSource is the configuration in r's body, named by the parameter name.
func (s *Server) textSource(w http.ResponseWriter, r *http.Request) (ConfigSource, error) {
	a := argsOf(r)
	name := a.text("name")
	if err := a.done(); err != nil {
		return ConfigSource{}, err
	}
	if name == "" {
		return ConfigSource{}, failf(CodeBadRequest, "parameter name is missing: the file's name, for messages")
	}
	text, err := body(w, r)
	if err == nil && len(text) == 0 {
		err = failf(CodeBadRequest, "the request has no body: send the configuration as it")
	}
	return ConfigSource{Name: name, Text: text}, err
}

func (s *Server) fileSource(_ http.ResponseWriter, r *http.Request) (ConfigSource, error) {
	return ConfigSource{}, argsOf(r).done()
}

// change answers a request that changes the router: only on a socket with full
// access, and never without a line in the log that says who asked.
func (s *Server) change(source func(http.ResponseWriter, *http.Request) (ConfigSource, error)) http.HandlerFunc {
	return s.answer(func(w http.ResponseWriter, r *http.Request) (any, error) {
		conn, _ := r.Context().Value(connKey{}).(*accepted)
		if conn == nil || s.access(conn.socket) != config.AccessFull {
			return nil, failf(CodeReadOnly, "this control socket is read-only: use one with access = \"full\"")
		}
		src, err := source(w, r)
		if err != nil {
			return nil, err
		}
		// An operator whose terminal goes away must not leave half a change behind.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), changeTime)
		defer cancel()
		by := conn.peer.String()
		log := s.log.With("by", by, "socket", conn.socket, "file", src.Name)
		applied, err := s.backend.ApplyConfig(ctx, src, by)
		if err != nil {
			log.Warn("configuration not applied", "error", err)
			return nil, err
		}
		applied.Changes = slices.Concat([]string{}, applied.Changes)
		log.Info("configuration applied", "revision", applied.Revision, "changes", applied.Changes)
		return applied, nil
	})
}
