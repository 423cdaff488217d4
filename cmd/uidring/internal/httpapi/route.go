package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	segmentsPath = "/v1/segments/"

	mostRequests = 1024 // at once: under /v1, without a token, and for leases
	mostScrapes  = 4    // at once
	mostViewers  = 64   // of the page at once, each with an endless /events
)

// A handler answers a request in full, or writes nothing and returns a problem.
type handler func(a *answer, r *http.Request) *problem

// A route is the handler of a path, with the checks that a request has to pass first.
type route struct {
	server  *Server
	guard   *guard // of its listener
	handle  handler
	open    bool     // needs no token
	clients *clients // whose tokens it needs; nil: clients for IDs
	draws   bool     // allows POST in place of HEAD, which an answer with new IDs could not match
	own     bool     // handle checks the method and the body itself
	early   bool     // answers before Begin
	places  *places  // bounds requests under way; nil: none
	usage   *usage
}

// routes are of a listener. They replace http.ServeMux, which redirects unclean paths and answers
// some errors in plain text.
type routes struct {
	server  *Server
	guard   *guard
	places  *places           // of the routes that issue or parse IDs
	open    *places           // of routes without a token: a stranger takes no place from a client
	exact   map[string]*route // by path
	below   map[string]*route // by the first two parts of a longer path, such as /v1/parse/
	unknown *route
}

// add adds a route. Its name is its path, or begins with it before {.
func (t *routes) add(name string, r route) {
	path, _, longer := strings.Cut(name, "{")
	if longer {
		t.below[path] = t.complete(name, r)
		return
	}
	t.exact[path] = t.complete(name, r)
}

func (t *routes) complete(name string, r route) *route {
	r.server, r.guard, r.usage, r.clients = t.server, t.guard, t.server.metrics.usage(name), cmp.Or(r.clients, t.server.clients)
	return &r
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

// newRoutes sets the routes of the API and of Admin.
func (s *Server) newRoutes() {
	s.routes = s.commonRoutes(s.cfg.Listen)
	s.routes.add("/v1/ids", route{handle: s.ids, places: s.routes.places, draws: true})
	if len(s.segments) > 0 {
		s.routes.add(segmentsPath+"{name}", route{handle: s.segment, places: s.routes.places, draws: true})
	}
	if s.cfg.Leases != nil {
		s.routes.add("/v1/leases/{namespace}/{method}",
			route{handle: adapt(s.cfg.Leases), clients: s.lessees, places: &places{most: mostRequests}, own: true})
	}
	s.admin = s.commonRoutes(s.cfg.AdminListen)
	s.admin.add("/healthz", route{handle: adapt(http.HandlerFunc(alive)), open: true, early: true})
	s.admin.add("/readyz", route{handle: s.ready, open: true})
	s.admin.add("/metrics", route{handle: adapt(s.metrics.handler()), places: &places{most: mostScrapes}, early: true})
}

// commonRoutes returns the routes that both listeners have: the page needs some of the API.
func (s *Server) commonRoutes(address string) routes {
	t := routes{server: s, guard: newGuard(s.cfg, address), places: &places{most: mostRequests}, open: &places{most: mostRequests},
		exact: make(map[string]*route), below: make(map[string]*route)}
	t.add("/v1/id", route{handle: s.id, places: t.places, draws: true})
	t.add(parsePath+"{id}", route{handle: s.parse, places: t.places})
	t.add("/openapi.json", route{handle: adapt(http.HandlerFunc(describe)), places: t.open, open: true, early: true})
	t.unknown = t.complete("unknown", route{handle: unknownPath, places: t.open, open: true, own: true, early: true})
	return t
}

// ServePage adds the handlers of the page to Admin, by path: "/" and "/assets/…" need no token,
// "/events", a stream, does. The server allows the method GET alone, and viewers up to mostViewers.
// Call it before the first request.
func (s *Server) ServePage(handlers map[string]http.Handler) {
	for path, handler := range handlers {
		r, name := route{handle: adapt(handler), places: s.admin.open, open: true, early: true}, path
		switch {
		case path == "/events":
			r = route{handle: s.stream(handler), places: &places{most: mostViewers}}
		case strings.HasPrefix(path, "/assets/"):
			name = "/assets/"
		}
		s.admin.exact[path] = s.admin.complete(name, r)
	}
}

// adapt adapts an http.Handler that answers errors itself.
func adapt(h http.Handler) handler {
	return func(a *answer, r *http.Request) *problem {
		h.ServeHTTP(a, r)
		return nil
	}
}

// stream is like adapt, for an endless answer. It ends the answer within a second after the token
// of the request was removed.
func (s *Server) stream(h http.Handler) handler {
	return func(a *answer, r *http.Request) *problem {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			second := time.Tick(time.Second)
			for good := true; good; _, good = s.clients.find(r) {
				select {
				case <-second:
				case <-ctx.Done():
					return
				}
			}
			cancel()
		}()
		h.ServeHTTP(a, r.WithContext(ctx))
		return nil
	}
}

func unknownPath(*answer, *http.Request) *problem {
	return notFound.because("There is nothing under this path; see /openapi.json.")
}

// ServeHTTP answers a request, and counts it.
func (t *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w, began: time.Now()}
	defer t.end(a, r)
	h := w.Header()
	h["Date"] = t.server.date(a.began)
	setHeaders(h, r)
	if !t.draws {
		setIsolation(h)
	}
	if p := t.serve(a, r); p != nil {
		p.write(a)
	}
}

// A date is the header Date of a second.
type date struct {
	second int64
	header []string
}

// date returns the header Date. net/http would format the time for each answer.
func (s *Server) date(now time.Time) []string {
	d := s.lastDate.Load()
	if second := now.Unix(); d == nil || d.second != second {
		d = &date{second, []string{now.UTC().Format(http.TimeFormat)}}
		s.lastDate.Store(d)
	}
	return d.header
}

// serve checks a request, and has it handled.
func (t *route) serve(a *answer, r *http.Request) *problem {
	if p := t.guard.check(t.server, r); p != nil {
		return p
	}
	if p := t.server.waits.Load(); p != nil && !t.early {
		return p
	}
	if !t.own {
		other := http.MethodHead
		if t.draws {
			other = http.MethodPost
		}
		if r.Method != http.MethodGet && r.Method != other {
			a.Header().Set("Allow", "GET, "+other)
			return badMethod.because("The method is %s, allowed: GET, %s.", excerpt(r.Method), other)
		}
		if r.ContentLength != 0 {
			a.Header().Set("Connection", "close") // instead of reading the body
			return badRequest.because("The request has a body, allowed: none. Parameters go into the URL.")
		}
	}
	if !t.places.enter() {
		return overloaded
	}
	defer t.places.leave()
	if !t.open {
		var ok bool
		if a.client, ok = t.clients.find(r); !ok {
			return t.denied(a, r)
		}
	}
	return t.handle(a, r)
}

// denied answers an invalid or missing token as RFC 6750 requires. It logs the first wrong token of
// an episode.
func (t *route) denied(a *answer, r *http.Request) *problem {
	challenge := `Bearer realm="uidring"`
	if a.client == unknownToken {
		challenge += `, error="invalid_token"`
		if t.server.refused.begins() {
			t.server.cfg.Logger.Warn("tokens refused", "remote", r.RemoteAddr, "path", excerpt(r.URL.Path))
		}
	}
	a.Header().Set("WWW-Authenticate", challenge)
	return unauthorized
}

// end counts a request. It logs a panic and answers 500, unless the response has begun. The client
// does not learn the cause.
func (t *route) end(a *answer, r *http.Request) {
	cause := recover()
	if cause != nil && cause != http.ErrAbortHandler { // else a handler aborts the connection on purpose
		t.server.cfg.Logger.Error("panic while answering a request",
			"method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
		if a.status == 0 {
			cause = nil
			clear(a.Header())
			setHeaders(a.Header(), r)
			internal.write(a)
		}
	}
	status := cmp.Or(a.status, http.StatusOK) // net/http sends 200 if nothing is written
	t.usage.count(status, time.Since(a.began))
	if a.client != nil && a.client.name != "" {
		t.server.metrics.tokens.WithLabelValues(a.client.name, strconv.Itoa(status)).Inc()
	}
	if cause != nil {
		panic(http.ErrAbortHandler) // part of the response is sent: the client has to see that it is truncated
	}
}

// places bound the number of concurrent requests. Nil places admit all.
type places struct {
	most  int
	under atomic.Int64 // requests that have entered and not left
}

func (l *places) enter() bool {
	if l == nil {
		return true
	}
	if l.under.Add(1) > int64(l.most) {
		l.under.Add(-1)
		return false
	}
	return true
}

func (l *places) leave() {
	if l != nil {
		l.under.Add(-1)
	}
}

// An answer is the response to a request.
type answer struct {
	http.ResponseWriter
	status int // 0: nothing is written yet
	began  time.Time
	client *client // nil: not known, or not asked for
}

// WriteHeader records the status.
func (a *answer) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
	a.ResponseWriter.WriteHeader(status)
}

// Write implies status 200 if there was no WriteHeader.
func (a *answer) Write(p []byte) (int, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
