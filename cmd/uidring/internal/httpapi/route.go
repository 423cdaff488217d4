package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

const (
	segmentsPath = "/v1/segments/"

	longestURL  = 2048 // bytes
	mostScrapes = 4    // at once

	allowed = "GET, HEAD, OPTIONS" // methods of all routes
)

// A handler answers a request in full, or writes nothing and returns a problem.
type handler func(w http.ResponseWriter, r *http.Request, c client) *problem

// A route is the handler of a path, with the checks that a request has to pass first.
type route struct {
	server  *Server
	handle  handler
	open    bool     // needs no token
	own     bool     // handle checks the method, the body and the token itself
	limiter *limiter // limits requests under way; nil: none
	usage   usage

	noStore []string // value of Cache-Control, allocated once
}

// routes replaces http.ServeMux, which redirects unclean paths and answers some errors in plain
// text.
type routes struct {
	exact         map[string]*route // by path
	parse, assets *route            // by prefix of the path; assets is nil without a page
	segment       *route            // by prefix of the path; nil without segments
	leases        *route            // by prefix of the path; nil without leases
	unknown       *route
}

func (t *routes) find(path string) *route {
	if r, ok := t.exact[path]; ok {
		return r
	}
	switch {
	case strings.HasPrefix(path, parsePath):
		return t.parse
	case strings.HasPrefix(path, "/assets/") && t.assets != nil:
		return t.assets
	case strings.HasPrefix(path, segmentsPath) && t.segment != nil:
		return t.segment
	case strings.HasPrefix(path, leasesPath) && t.leases != nil:
		return t.leases
	}
	return t.unknown
}

func (s *Server) newRoutes(m *metrics) routes {
	// Routes without a token have their own limiter: a few stalled HTTP/2 connections can fill it.
	api, public, scrapes := &limiter{most: s.cfg.MaxConcurrent}, &limiter{most: s.cfg.MaxConcurrent}, &limiter{most: mostScrapes}
	add := func(name string, r route) *route {
		r.server, r.usage, r.noStore = s, m.usage(name), []string{"no-store"}
		return &r
	}
	all := routes{
		exact: map[string]*route{
			"/v1/id":        add("/v1/id", route{handle: s.id, limiter: api}),
			"/v1/ids":       add("/v1/ids", route{handle: s.ids, limiter: api}),
			"/openapi.json": add("/openapi.json", route{handle: describe, limiter: public, open: true}),
			"/healthz":      add("/healthz", route{handle: alive, open: true}),
			"/readyz":       add("/readyz", route{handle: s.ready, open: true}),
			"/metrics":      add("/metrics", route{handle: adapt(m.handler()), limiter: scrapes}),
		},
		parse:   add(parsePath+"{id}", route{handle: s.parse, limiter: api}),
		unknown: add("unknown", route{handle: unknownPath, limiter: public, open: true}),
	}
	if len(s.segments) > 0 {
		all.segment = add(segmentsPath+"{name}", route{handle: s.segment, limiter: api})
	}
	if s.cfg.Leases != nil {
		all.leases = add(leasesPath+"{namespace}/{method}", route{handle: s.leases, limiter: &limiter{most: s.cfg.MaxConcurrent}, own: true})
	}
	if page := s.cfg.Page; page != nil {
		all.exact["/"] = add("/", route{handle: adapt(page), limiter: public, open: true})
		all.assets = add("/assets/", route{handle: adapt(page), limiter: public, open: true})
		all.exact["/events"] = add("/events", route{handle: s.stream(page)})
	}
	return all
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
			for good := true; good; _, good = s.clients.find(s.cfg.Tokens(), r) {
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
	defer func() { t.usage.count(a.status, time.Since(started)) }()
	defer t.recover(a, r)
	w.Header()["Cache-Control"] = t.noStore // the page's files replace it
	if p := t.answer(a, r); p != nil {
		p.write(a)
	}
}

func (t *route) answer(w http.ResponseWriter, r *http.Request) *problem {
	if t.own {
		return t.limited(w, r)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		w.Header().Set("Allow", allowed)
		return badMethod.because("The method is %s, allowed: %s.", excerpt(r.Method), allowed)
	}
	if p := checkSize(w, r); p != nil {
		return p
	}
	if !t.limiter.enter() {
		return overloaded
	}
	defer t.limiter.leave()
	var c client
	if !t.open {
		var ok bool
		if c, ok = t.server.clients.find(t.server.cfg.Tokens(), r); !ok {
			return denied(w, r)
		}
	}
	return t.handle(w, r, c)
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
	a.Header()["Cache-Control"] = t.noStore
	internal.write(a)
}
