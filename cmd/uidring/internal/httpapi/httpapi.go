// Package httpapi is the HTTP API of the ID service, as an http.Handler. It is independent of
// stores, files and TLS: the caller passes a generator and the tokens to a [Server], and runs it
// behind a listener with timeouts and a limit on the size of headers.
//
// A [Server] has two handlers, for a listener each: its own ServeHTTP for clients, and Admin for
// operators, with the page, metrics and probes.
//
// A request passes these checks in order: the route, the site that it comes from, whether there is
// a generator, the method, the length of its body, the number of requests under way, the token, and
// then, for /v1, the limit on IDs per second. The first failed check answers the request with a
// problem of RFC 9457.
package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/storecall"
)

// largestBatch is the largest number of IDs per request. openapi.json repeats it.
const largestBatch = 100_000

// longestAge is the largest MaxAge. It is the bound of Domain.KeptFor for the horizon after a
// crash.
const longestAge = storecall.ClockBound

// Settings are the bounds and names of a Server that operators set. No field has a default.
type Settings struct {
	// Listen is the address that serves the API, and AdminListen the address that serves Admin,
	// host:port. Without tokens each answers requests for its host, localhost, AllowedHosts and IP
	// addresses, and refuses other names.
	Listen, AdminListen string
	// AllowedHosts are more names of the server, without scheme and port; "*" allows any name. With
	// such names, the server also checks the names of requests with tokens.
	AllowedHosts []string
	// Rate is the number of IDs per second for each name of Tokens, or, without tokens, for all
	// clients together. Under /v1 a request without IDs counts as one ID. Zero: no limit.
	Rate float64
	// Burst is the number of IDs that a client with a Rate may draw at once after a pause, 1 or
	// more; zero: the IDs of a second. No request may draw more.
	Burst int
	// MaxAge is the longest time that a client may keep an ID before it uses the ID, from 1 s to
	// longestAge in whole seconds. Each answer with IDs of the Generator has it in a header. The
	// assigner of the Generator has to set Domain.KeptFor to it.
	MaxAge time.Duration
	// Version of the program, for the metric uidring_build_info and the page.
	Version string
	// Logger gets a record for each panic of a handler, and for refusals; required.
	Logger *slog.Logger
}

// Check reports all mistakes at once, with the names of the command's settings for the fields.
func (s *Settings) Check() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, name := range s.AllowedHosts {
		check(name == "*" || hostName.MatchString(name), "allowed-host %q, allowed: names of hosts without scheme and port, or * for any", name)
	}
	check(s.Rate >= 0 && s.Rate <= math.MaxInt32, "rate %v, allowed: 0 (no limit) to %d", s.Rate, math.MaxInt32)
	check(s.MaxAge >= time.Second && s.MaxAge <= longestAge && s.MaxAge%time.Second == 0, "max-age %v, allowed: 1s to %v in whole seconds", s.MaxAge, longestAge)
	check(s.Burst == 0 || s.Burst > 0 && s.Rate > 0, "burst %d, allowed: 0 (the default), or more with a rate", s.Burst)
	return errors.Join(errs...)
}

// A Config configures a Server.
type Config struct {
	Settings
	// Generator issues the IDs. The server does not close it. Nil: see Server.Begin.
	Generator *cached.Generator
	// Tokens returns the current set of tokens. The server calls it for every request, from many
	// goroutines at once. With a nil func or the zero Tokens, clients need no token.
	Tokens func() Tokens
	// MaxAhead is MaxAhead of the Generator, and IDsPerSecond the number of IDs that its layout has
	// for each second. The server refuses requests above them without spending IDs, and is not
	// ready while it would refuse a request for one ID. Zero: no such bound.
	MaxAhead     time.Duration
	IDsPerSecond float64
	// Segments are the segments under /v1/segments/; nil: the route does not exist. The server does
	// not close them.
	Segments *segments.Set
	// Leases serves /v1/leases/ to clients with a token of LeaseTokens; nil: the route does not
	// exist. With a nil func or the zero Tokens, clients need no token.
	Leases      http.Handler
	LeaseTokens func() Tokens
	// Store is the store of the worker ID, for the metric uidring_store_info. Without Store.ID
	// there is no such metric.
	Store Store
	// Collectors are more metrics for /metrics.
	Collectors []prometheus.Collector
}

// A Store describes the store of a worker ID.
type Store struct {
	Name, Namespace string
	ID              string // random, made with the namespace: servers with different ones may issue equal IDs
	Local           bool   // a file or folder of this host
}

// A Server is the API. Any number of goroutines may use it.
type Server struct {
	cfg      Config
	batch    int                // the largest number of IDs per request
	supply                      // of the generator
	segments map[string]*supply // by name
	routes   routes             // of the API
	admin    routes
	clients  *clients
	lessees  *clients  // clients for leases
	refused  episode   // of tokens
	batches  sync.Pool // of *batch
	lastDate atomic.Pointer[date]
	draining atomic.Bool
	waits    atomic.Pointer[problem] // until Begin, why there is no generator yet
	probe    probe
	metrics  *metrics
}

// New returns the API. The caller has checked the Settings.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg, batch: largestBatch, segments: make(map[string]*supply),
		supply: supply{empty: noneReady, maxAge: []string{strconv.Itoa(int(cfg.MaxAge / time.Second))}},
	}
	s.waits.Store(starting)
	s.batches.New = func() any { return &batch{buf: make([]byte, 0, chunk)} }
	if cfg.Rate > 0 && cfg.Burst == 0 {
		cfg.Burst = int(math.Ceil(cfg.Rate))
	}
	if cfg.Rate > 0 {
		s.batch = min(s.batch, cfg.Burst)
	}
	s.supply.stream = s.worker
	process := []string{rand.Text()} // each process has ranges of its own
	for _, each := range cfg.Segments.All() {
		s.segments[each.Name()] = &supply{issuer: each, empty: noRange, pace: new(pace), stream: func(int64) []string { return process }}
	}
	s.metrics = newMetrics(cfg)
	s.clients = newClients(cfg.Tokens, cfg.Rate, cfg.Burst, s.metrics.tokenIDs)
	s.lessees = newClients(cfg.LeaseTokens, 0, 0, nil)
	s.newRoutes()
	if cfg.Generator != nil {
		s.Begin(cfg.Generator, cfg.Store.ID)
	}
	return s
}

// Begin gives the server a generator, and the ID of its store. Before, the server has the page
// without data, /healthz, /metrics and /openapi.json, and refuses other requests.
func (s *Server) Begin(g *cached.Generator, storeID string) {
	s.cfg.Generator, s.cfg.Store.ID = g, storeID
	s.supply.issuer, s.supply.pace = g, newPace(s.cfg)
	s.metrics.begin(s.cfg)
	s.waits.Store(nil)
}

// Waiting tells clients the kind of the error for which there is no generator yet. The log has its
// text, which may have addresses.
func (s *Server) Waiting(err error) {
	reason := "the store does not answer, or refuses"
	for _, kind := range []error{assigner.ErrQuarantined, assigner.ErrWorkersExhausted, assigner.ErrWorkerAheadOfClock} {
		if errors.Is(err, kind) {
			reason = strings.TrimPrefix(kind.Error(), "assigner: ")
		}
	}
	after, _ := uidring.RetryAfter(err)
	after = max(after, time.Second)
	p := starting.because("There is no worker ID: %s. The next try is at %s UTC. Use another server; the log of this one says more.",
		reason, time.Now().Add(after).UTC().Format(time.TimeOnly)).after(min(after, 10*time.Second)) // a quarantine may end early
	if last := s.waits.Load(); last != nil { // else it is about another worker ID, after Begin
		s.waits.CompareAndSwap(last, p)
	}
}

// ServeHTTP answers a request to the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.routes.find(r.URL.Path).ServeHTTP(w, r)
}

// Admin returns the handler of the page, the metrics and the probes.
func (s *Server) Admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.admin.find(r.URL.Path).ServeHTTP(w, r) })
}

// Drain makes /readyz answer 503, so that load balancers choose other servers. Other routes answer
// as before. Call it some seconds before the server stops listening.
func (s *Server) Drain() { s.draining.Store(true) }

// Unready returns the name of the problem that GET /readyz answers with now, such as no-lease, or
// "" if the server is ready.
func (s *Server) Unready() string {
	if p := s.unready(); p != nil {
		return p.name
	}
	return ""
}

// Refusal returns the name of the problem that the last request without IDs was answered with in
// the last 10 s, since there were none, or "" if all requests got their IDs.
func (s *Server) Refusal() string {
	if last := s.refusal.Load(); last != nil && time.Since(last.at) < 10*time.Second {
		return s.problem(last.err).name
	}
	return ""
}

// Traffic returns the numbers of requests under /v1 since the start: all that were answered, and
// those with a status of 4xx and 5xx.
func (s *Server) Traffic() (answered, refused, failed int64) {
	for route, u := range s.metrics.routes {
		if !strings.HasPrefix(route, "/v1/") {
			continue
		}
		byStatus, _, _ := u.read()
		for status, n := range byStatus {
			answered += int64(n)
			switch status / 100 {
			case 4:
				refused += int64(n)
			case 5:
				failed += int64(n)
			}
		}
	}
	return answered, refused, failed
}
