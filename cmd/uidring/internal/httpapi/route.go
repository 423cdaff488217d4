package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

const (
	segmentsPath = "/v1/segments/"

	longestURL   = 2048 // bytes
	mostRequests = 1024 // at once: under /v1, of the page, and for leases
	mostScrapes  = 4    // at once
	mostViewers  = 64   // of the page at once, each with an endless /events

	allowed       = "GET, HEAD, OPTIONS" // methods
	allowedToDraw = "GET, HEAD, POST, OPTIONS"
)

// A handler answers a request in full, or writes nothing and returns a problem.
type handler func(w http.ResponseWriter, r *http.Request, c client) *problem

// A route is the handler of a path, with the checks that a request has to pass first.
type route struct {
	server  *Server
	guard   *guard // of its listener
	handle  handler
	open    bool     // needs no token
	clients *clients // whose tokens it needs; nil: clients for IDs
	draws   bool     // allows POST
	own     bool     // handle checks the method and the body itself
	places  *places  // bounds requests under way; nil: none
	usage   usage
}

// routes replaces http.ServeMux, which redirects unclean paths and answers some errors in plain
// text.
type routes struct {
	exact   map[string]*route // by path
	below   map[string]*route // by the first two parts of a longer path, such as /v1/parse/
	unknown *route
}

func (t *routes) find(path string) *route {
	if r, ok := t.exact[path]; ok {
		return r
	}
	if parts := strings.SplitAfterN(path, "/", 4); len(parts) == 4 {
		if r, ok := t.below[parts[0]+parts[1]+parts[2]]; ok {
			return r
		}
	}
	return t.unknown
}

// newRoutes sets the routes of the API and of Admin. Each of the two has places of its own.
func (s *Server) newRoutes() {
	guard := newGuard(s.cfg, s.cfg.Listen)
	add := func(name string, r route) *route {
		r.server, r.guard, r.usage, r.clients = s, guard, s.metrics.usage(name), cmp.Or(r.clients, s.clients)
		return &r
	}
	table := func() (routes, *places) {
		limit := &places{most: mostRequests}
		return routes{
			exact: map[string]*route{
				"/v1/id":        add("/v1/id", route{handle: s.id, places: limit, draws: true}),
				"/openapi.json": add("/openapi.json", route{handle: describe, places: limit, open: true}),
			},
			below:   map[string]*route{parsePath: add(parsePath+"{id}", route{handle: s.parse, places: limit})},
			unknown: add("unknown", route{handle: unknownPath, places: limit, open: true}),
		}, limit
	}
	var limit *places
	s.routes, limit = table()
	s.routes.exact["/v1/ids"] = add("/v1/ids", route{handle: s.ids, places: limit, draws: true})
	if len(s.segments) > 0 {
		s.routes.below[segmentsPath] = add(segmentsPath+"{name}", route{handle: s.segment, places: limit, draws: true})
	}
	if s.cfg.Leases != nil {
		s.routes.below["/v1/leases/"] = add("/v1/leases/{namespace}/{method}", route{handle: adapt(s.cfg.Leases), clients: s.lessees, places: &places{most: mostRequests}, own: true})
	}

	guard = newGuard(s.cfg, s.cfg.AdminListen)
	s.admin, limit = table()
	s.admin.exact["/healthz"] = add("/healthz", route{handle: alive, open: true})
	s.admin.exact["/readyz"] = add("/readyz", route{handle: s.ready, open: true})
	s.admin.exact["/metrics"] = add("/metrics", route{handle: adapt(s.metrics.handler()), places: &places{most: mostScrapes}})
	for path, handler := range s.cfg.Page {
		switch {
		case path == "/events":
			s.admin.exact[path] = add(path, route{handle: s.stream(handler), places: &places{most: mostViewers}})
		case strings.HasPrefix(path, "/assets/"):
			s.admin.exact[path] = add("/assets/", route{handle: adapt(handler), places: limit, open: true})
		default:
			s.admin.exact[path] = add(path, route{handle: adapt(handler), places: limit, open: true})
		}
	}
}

// adapt adapts an http.Handler that answers errors itself.
func adapt(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, _ client) *problem {
		h.ServeHTTP(w, r)
		return nil
	}
}

// stream is like adapt, for an endless answer. It ends the answer within a second after the token
// of the request was removed.
func (s *Server) stream(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, _ client) *problem {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			defer cancel()
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for good := true; good; _, good = s.clients.find(r) {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}()
		h.ServeHTTP(w, r.WithContext(ctx))
		return nil
	}
}

func unknownPath(http.ResponseWriter, *http.Request, client) *problem {
	return notFound.because("There is nothing under this path; see /openapi.json.")
}

// ServeHTTP answers a request, and counts it.
func (t *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	a := &statusWriter{ResponseWriter: w}
	defer func() { t.done(a, r, time.Since(started)) }()
	defer t.recover(a, r)
	setHeaders(w.Header(), r)
	if p := t.answer(a, r); p != nil {
		p.write(a)
	}
}

// done counts a request, and logs it if it is chosen for the access log.
func (t *route) done(a *statusWriter, r *http.Request, took time.Duration) {
	t.usage.count(a.status, took, a.token)
	if fraction := t.server.cfg.AccessLog; fraction > 0 && rand.Float64() < fraction {
		t.server.cfg.Logger.Info("request", "method", r.Method, "path", excerpt(r.URL.Path), "route", t.usage.route, "status", cmp.Or(a.status, http.StatusOK),
			"bytes", a.bytes, "took", took, "remote", r.RemoteAddr, "token", a.token, "protocol", r.Proto)
	}
}

func (t *route) answer(w *statusWriter, r *http.Request) *problem {
	if p := t.guard.check(t.server, r); p != nil {
		return p
	}
	if !t.own {
		if r.Method == http.MethodOptions {
			w.Header().Set("Allow", t.methods())
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		if p := t.checkMethod(w, r); p != nil {
			return p
		}
		if p := checkSize(w, r); p != nil {
			return p
		}
	}
	if !t.places.enter() {
		return overloaded
	}
	defer t.places.leave()
	var c client
	if !t.open {
		var ok bool
		c, ok = t.clients.find(r)
		w.token = c.name
		if !ok {
			t.server.audit(c.name, r.RemoteAddr, excerpt(r.URL.Path))
			return denied(w, r)
		}
	}
	return t.handle(w, r, c)
}

func (t *route) methods() string {
	if t.draws {
		return allowedToDraw
	}
	return allowed
}

func (t *route) checkMethod(w http.ResponseWriter, r *http.Request) *problem {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return nil
	case http.MethodPost:
		if t.draws {
			return nil
		}
	}
	w.Header().Set("Allow", t.methods())
	return badMethod.because("The method is %s, allowed: %s.", excerpt(r.Method), t.methods())
}

// checkSize rejects long URLs and bodies. It closes the connection of a request with a body,
// instead of reading the body.
func checkSize(w http.ResponseWriter, r *http.Request) *problem {
	if len(r.RequestURI) > longestURL {
		return longURL
	}
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		return hasBody
	}
	return nil
}

// audit logs refused tokens, at most once a minute.
func (s *Server) audit(name, remote, path string) {
	if name == noToken {
		return
	}
	if n := s.refused.Add(); n > 0 {
		s.cfg.Logger.Warn("tokens refused", "refused", n, "last_token", name, "last_remote", remote, "last_path", path)
	}
}

// denied answers an invalid or missing token as RFC 6750 requires.
func denied(w http.ResponseWriter, r *http.Request) *problem {
	challenge := `Bearer realm="uidring"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	return unauthorized
}

// recover logs a panic and answers 500, unless the response has begun. The client does not learn
// the cause.
func (t *route) recover(a *statusWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause) // a handler aborts the connection on purpose
	}
	t.server.cfg.Logger.Error("panic while answering a request",
		"method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
	if a.status != 0 {
		panic(http.ErrAbortHandler) // part of the response is sent: abort, so that the client sees it is truncated
	}
	clear(a.Header())
	setHeaders(a.Header(), r)
	internal.write(a)
}
