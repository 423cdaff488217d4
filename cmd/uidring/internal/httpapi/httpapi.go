// Package httpapi is the HTTP API of the ID service, as an http.Handler. It is independent of
// stores, files and TLS: the caller passes a generator and the tokens to a [Server], and runs it
// behind a listener with timeouts and a limit on the size of headers.
//
// A request passes these checks in order: the route, the limit on connections, the site that it
// comes from, the method, the length of its URL and body, the number of requests under way, the
// token, and then, for /v1, the limit on IDs per second. The first failed check answers the request
// with a problem of RFC 9457.
package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/cmd/uidring/internal/throttle"
	"github.com/uidring/uidring/segment"
)

// LargestBatch is the upper bound of Config.MaxBatch, in IDs. openapi.json repeats it.
const LargestBatch = 100_000

// A Config configures a Server.
type Config struct {
	// Generator issues the IDs; required. The server does not close it.
	Generator *cached.Generator
	// Tokens returns the current set of tokens. The server calls it for every request, from many
	// goroutines at once. With a nil func or the zero Tokens, clients need no token.
	Tokens func() Tokens
	// Listen is the address that the server listens on, host:port. Without tokens the server
	// answers requests for this host, localhost, AllowedHosts and any IP address, and refuses other
	// names.
	Listen string
	// AllowedHosts are more names of the server, see CheckHosts; "*" allows any name. With such
	// names, the server also checks the names of requests with tokens.
	AllowedHosts []string
	// MaxBatch is the largest number of IDs per request, 1 to 100,000; zero: 100,000.
	MaxBatch int
	// Rate is the number of IDs per second for each name of Tokens, or, without tokens, for all
	// clients together. Under /v1 a request without IDs counts as one ID. Zero: no limit.
	Rate float64
	// Burst is the number of IDs that a client with a Rate may draw at once after a pause, 1 or
	// more; zero: the IDs of a second. It bounds MaxBatch.
	Burst int
	// MaxAhead is MaxAhead of the Generator, and IDsPerSecond the number of IDs that its layout has
	// for each second. The server refuses requests above them without spending IDs, and is not
	// ready then. Zero: no such bound.
	MaxAhead     time.Duration
	IDsPerSecond float64
	// MaxConcurrent is the largest number of concurrent requests under /v1, and separately of
	// requests to routes without a token, 1 or more; zero: 1,024. Probes, scrapes of metrics and
	// /events do not count.
	MaxConcurrent int
	// Segments are the segments under /v1/segments/; nil: the route does not exist. The server does
	// not close them.
	Segments *segments.Set
	// Leases serves /v1/leases/ to clients with a token of LeaseTokens; nil: the route does not
	// exist. With a nil func or the zero Tokens, clients need no token.
	Leases      http.Handler
	LeaseTokens func() Tokens
	// Page serves /, /assets/ and /events; nil: these routes do not exist. It limits the number of
	// event streams itself. The files need no token, /events does.
	Page http.Handler
	// Store is the store of the worker ID, for the metric uidring_store_info. Without Store.ID
	// there is no such metric.
	Store Store
	// AccessLog is the fraction of the requests, chosen at random, that Logger gets a record for, 0
	// (none) to 1.
	AccessLog float64
	// Version of the program, for the metric uidring_build_info.
	Version string
	// Collectors are more metrics for /metrics.
	Collectors []prometheus.Collector
	// Logger gets a record for each panic of a handler, and for refusals; nil: none.
	Logger *slog.Logger
}

// A Store describes the store of a worker ID.
type Store struct {
	Name, Namespace string
	ID              string // random, made with the namespace: servers with different ones may issue equal IDs
	Local           bool   // a file or folder of this host
}

// A Server is the API. Any number of goroutines may use it.
type Server struct {
	cfg       Config             // resolved
	supply                       // of the generator
	segments  map[string]*supply // by name
	routes    routes
	clients   *clients
	lessees   *clients // clients for leases
	guard     *guard
	refused   throttle.Tally // tokens
	batches   sync.Pool      // of *batch
	draining  atomic.Bool
	readiness readiness
	metrics   *metrics
}

// New checks cfg, reports all mistakes at once, and returns the API.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, lessees: newClients(cfg.LeaseTokens, 0, 0, nil), guard: newGuard(cfg),
		supply: supply{issuer: cfg.Generator, passing: cached.ErrLeaseExhausted, pace: newPace(cfg)}, segments: make(map[string]*supply),
	}
	for _, each := range cfg.Segments.All() {
		s.segments[each.Name()] = &supply{issuer: each, passing: segment.ErrEmpty, pace: new(pace)}
	}
	s.batches.New = func() any { return newBatch() }
	metrics, err := newMetrics(cfg)
	if err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	s.clients = newClients(cfg.Tokens, cfg.Rate, cfg.Burst, metrics.tokenIDs)
	s.metrics, s.routes = metrics, s.newRoutes(metrics)
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.routes.find(r.URL.Path).ServeHTTP(w, r)
}

// Drain makes /readyz answer 503, so that load balancers choose other servers. Other routes answer
// as before. Call it some seconds before the server stops listening.
func (s *Server) Drain() { s.draining.Store(true) }

func (cfg Config) resolve() (Config, error) {
	if cfg.Tokens == nil {
		cfg.Tokens = func() Tokens { return Tokens{} }
	}
	if cfg.LeaseTokens == nil {
		cfg.LeaseTokens = func() Tokens { return Tokens{} }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxBatch == 0 {
		cfg.MaxBatch = LargestBatch
	}
	if cfg.MaxConcurrent == 0 {
		cfg.MaxConcurrent = 1024
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("httpapi: "+format, args...))
		}
	}
	check(cfg.Generator != nil, "Generator is missing")
	check(cfg.MaxBatch >= 1 && cfg.MaxBatch <= LargestBatch, "MaxBatch %d, allowed: 1 to %d", cfg.MaxBatch, LargestBatch)
	check(cfg.Rate >= 0 && cfg.Rate <= math.MaxInt32, "Rate %v, allowed: 0 (no limit) to %d IDs a second", cfg.Rate, math.MaxInt32)
	check(cfg.Burst >= 0, "Burst %d, allowed: 0 (the default) or more", cfg.Burst)
	if cfg.Rate > 0 {
		if cfg.Burst == 0 {
			cfg.Burst = int(math.Ceil(min(cfg.Rate, math.MaxInt32)))
		}
		cfg.MaxBatch = min(cfg.MaxBatch, cfg.Burst)
	}
	check(cfg.AccessLog >= 0 && cfg.AccessLog <= 1, "AccessLog %v, allowed: 0 to 1", cfg.AccessLog)
	check(cfg.MaxConcurrent >= 1, "MaxConcurrent %d, allowed: 1 or more", cfg.MaxConcurrent)
	if err := CheckHosts(cfg.AllowedHosts); err != nil {
		errs = append(errs, fmt.Errorf("httpapi: AllowedHosts %w", err))
	}
	return cfg, errors.Join(errs...)
}
