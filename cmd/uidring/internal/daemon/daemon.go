// Package daemon is the process of uidring serve: its listeners, its generator with the lease of a
// worker ID, the reloading of its certificate and tokens, and the order of start and shutdown.
package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/schema"
	"github.com/uidring/uidring/segment"
)

// A Service is the process of uidring serve. Create it with [New] and call Run once.
type Service struct {
	cfg         Config
	logger      *slog.Logger
	store       *storeurl.Store
	storeCalls  dashboard.StoreCalls
	storeID     string                          // ID of the namespace; "" if unknown
	known       knownStore                      // the store of this host that the namespace used last
	segments    *segments.Set                   // the segments of Config.Segments
	leases      leases                          // the namespaces of Config.Leases
	certificate atomic.Pointer[tls.Certificate] // nil: no TLS
	tokens      atomic.Pointer[httpapi.Tokens]  // empty: clients need no token
	leaseTokens atomic.Pointer[httpapi.Tokens]  // empty: clients for leases need no token
	files       []*watchedFile                  // of the certificate and the tokens
	api, admin  *site
	generator   *cached.Generator // nil until the service has a worker ID
	ending      chan struct{}     // closed when event streams have to end
}

// New checks the configuration, reads the files that it names, and opens the store, see
// storeurl.Open. It reports all mistakes at once. Call Run afterwards.
func New(cfg Config) (*Service, error) {
	s := &Service{cfg: cfg, logger: cfg.Logger, ending: make(chan struct{})}
	s.tokens.Store(new(httpapi.Tokens))
	s.leaseTokens.Store(new(httpapi.Tokens))
	if cfg.CertFile != "" && cfg.KeyFile != "" {
		s.files = append(s.files, watchCertificate(cfg.CertFile, cfg.KeyFile, &s.certificate))
	}
	if cfg.TokenFile != "" {
		s.files = append(s.files, watchTokens("tokens", cfg.TokenFile, &s.tokens, &s.leaseTokens))
	}
	if cfg.LeaseTokenFile != "" {
		s.files = append(s.files, watchTokens("lease-tokens", cfg.LeaseTokenFile, &s.leaseTokens, &s.tokens))
	}
	err := cfg.check()
	for _, f := range s.files {
		contents, errRead := f.read()
		err = errors.Join(err, f.load(s.logger, contents, errRead))
	}
	if err == nil && s.tokens.Load().Shares(*s.leaseTokens.Load()) {
		err = errShared
	}
	var errStore error
	s.store, errStore = storeurl.Open(cfg.StoreURL, cfg.Namespace)
	if err = errors.Join(err, errStore); err == nil {
		s.leases, err = openLeases(cfg, s.store)
	}
	var counters segment.Source
	if err == nil && len(cfg.Segments) > 0 {
		counters, err = s.store.SegmentSource(cfg.Lease.AllowUndurable)
	}
	if err != nil {
		s.closeStore()
		return nil, err
	}
	s.segments = segments.New(cfg.Segments, counters, cfg.Logger)
	s.cfg.boundLead()
	return s, nil
}

func (s *Service) encrypted() bool { return s.certificate.Load() != nil }

func (s *Service) closeStore() {
	if s.store == nil {
		return
	}
	if err := errors.Join(s.leases.close(s.store), s.store.Close()); err != nil {
		s.logger.Warn("store not closed", "store", s.store.String(), "error", err)
	}
}

// Run serves until ctx ends, and then returns nil. It returns an error if it cannot listen, or if
// the store refuses, and ErrSecondStore: systemd and others start it again. While a store that
// other hosts reach does not answer, it waits. On SIGHUP it reads its files again.
func (s *Service) Run(ctx context.Context) (err error) {
	defer s.closeStore()
	api, admin := s.connections()
	if s.api, err = s.newSite(ctx, "listen", s.cfg.Listen, api); err != nil {
		return err
	}
	if s.admin, err = s.newSite(ctx, "admin-listen", s.cfg.AdminListen, admin); err != nil {
		return errors.Join(err, s.api.Close())
	}
	s.logger.Info("listening", "address", s.api.Addr().String(), "admin", s.admin.Addr().String(), "tls", s.encrypted(), "tokens", s.cfg.TokenFile != "")
	for _, f := range s.files {
		f.log(s.logger)
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	background, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends when the process stops
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { s.watch(background, hangup) })
	return s.serve(ctx, func(page *dashboard.Page) { group.Go(func() { page.Run(background) }) })
}

// serve listens, takes a worker ID, fills the page and serves the API. When ctx ends it undoes that
// in reverse.
func (s *Service) serve(ctx context.Context, show func(*dashboard.Page)) error {
	server, page := s.newAPI()
	s.api.handler, s.admin.handler = server, server.Admin()
	failed := make(chan error, 2) // of the two listeners
	go func() { failed <- s.api.serve() }()
	go func() { failed <- s.admin.serve() }()
	err := s.takeWorkerID(ctx, server.Waiting)
	if err != nil {
		s.closeListeners() // no ID was issued yet
		if ctx.Err() != nil {
			s.logger.Info("stopped", "issued", 0)
			return nil
		}
		return err
	}
	server.Begin(s.generator, s.storeID)
	show(page)
	s.notify(daemon.SdNotifyReady)
	s.logger.Info("ready", "page", s.admin.url(), "worker", s.generator.WorkerID(), "store", s.store.String(), "namespace", s.cfg.Namespace, "store_id", s.storeID,
		"store_this_host_only", s.store.Path() != "")
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.stop(server)
	return err
}

func (s *Service) closeListeners() { _, _ = s.api.server.Close(), s.admin.server.Close() }

// takeWorkerID takes a worker ID and makes the generator. It waits for the store and a worker ID
// until ctx ends: StartTimeout of the library does not apply. It calls waiting with each error of a
// call for a worker ID.
func (s *Service) takeWorkerID(ctx context.Context, waiting func(error)) (err error) {
	lease, cfg := s.cfg.Lease, s.cfg.Generator
	lease.Logger, cfg.Logger = s.logger, s.logger
	kept := &keptAssigner{assigner.Leased(s.store.Store, lease), s.cfg.MaxAge, waiting, s.makeStore}
	if s.store.Path() != "" { // the library would wait for a file or folder that cannot be opened
		err, kept.prepare = s.makeStore(ctx), nil
	}
	if err == nil {
		cfg.Assigner, cfg.Trace = kept, s.storeCalls.Trace()
		s.generator, err = cached.NewContext(ctx, cfg)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", s.store, err)
	}
	s.noteStore(ctx)
	return nil
}

// A keptAssigner is an Assigner for a generator whose callers keep IDs. It passes on its errors.
type keptAssigner struct {
	assigner.Assigner
	keptFor time.Duration
	waiting func(error)
	prepare func(context.Context) error // nil once it has succeeded: lost tables are not made anew
}

// Assign implements [assigner.Assigner].
func (k *keptAssigner) Assign(ctx context.Context, d assigner.Domain) (lease assigner.Lease, err error) {
	d.KeptFor = k.keptFor
	call := storecall.OnFailure(ctx, func(err error) { k.waiting(err); storecall.Failed(ctx, err) })
	if k.prepare != nil {
		err = k.prepare(call)
	}
	if err == nil {
		k.prepare = nil
		lease, err = k.Assigner.Assign(call, d)
	}
	if err != nil {
		k.waiting(err)
	}
	return lease, err
}

// makeStore creates the missing parts of the store, unless the service expects another store.
func (s *Service) makeStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := s.checkStore(ctx)
	if err == nil && s.cfg.CreateSchema {
		groups := []schema.Group{schema.Leases}
		if len(s.cfg.Segments) > 0 {
			groups = append(groups, schema.Segments)
		}
		var made []string
		if made, err = s.store.Create(ctx, groups...); len(made) > 0 {
			s.cfg.Logger.Info("store: created what was missing", "names", made)
		}
	}
	return err
}

// newAPI returns the API and its page, before there is a generator.
func (s *Service) newAPI() (*httpapi.Server, *dashboard.Page) {
	alloc, _ := bitsalloc.New(s.cfg.Generator.Layout, s.cfg.Generator.Epoch) // the configuration is checked
	local := s.store.Path() != ""
	cfg := httpapi.Config{
		Settings:     s.cfg.Settings,
		MaxAhead:     s.cfg.Generator.MaxAhead,
		IDsPerSecond: float64(alloc.MaxSequence()+1) / alloc.Layout().Unit.Seconds(),
		Segments:     s.segments,
		Leases:       s.leases.handler(),
		Tokens:       func() httpapi.Tokens { return *s.tokens.Load() },
		LeaseTokens:  func() httpapi.Tokens { return *s.leaseTokens.Load() },
		Store:        httpapi.Store{Name: s.store.String(), Namespace: s.cfg.Namespace, Local: local},
	}
	cfg.Collectors = []prometheus.Collector{newHorizonMetric(s.store, alloc), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "uidring_http_connections",
		Help: "Open connections to listen; max-connections bounds them.",
	}, func() float64 { return float64(s.api.open.Load()) })}
	if s.encrypted() {
		cfg.Collectors = append(cfg.Collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "uidring_certificate_expires_timestamp_seconds",
			Help: "When the certificate in use expires, in seconds since 1970.",
		}, func() float64 { return float64(s.certificate.Load().Leaf.NotAfter.Unix()) }))
	}
	api := httpapi.New(cfg)
	host, _ := os.Hostname() // without a name, the page shows none
	_, port, _ := net.SplitHostPort(s.api.Addr().String())
	page := dashboard.New(dashboard.Config{
		About: dashboard.About{Version: s.cfg.Version, Host: host, Namespace: s.cfg.Namespace, Tokens: s.cfg.TokenFile != "", APIPort: port,
			Store: s.store.String(), Local: local},
		Stats:      func() cached.Stats { return s.generator.Stats() },
		API:        api,
		StoreCalls: &s.storeCalls,
		Allocator:  alloc,
		Segments:   s.segments,
		Store:      s.store,
		Window:     s.cfg.Lease.Window,
		MaxAhead:   s.cfg.Generator.MaxAhead,
		Done:       s.ending,
	})
	api.ServePage(page.Handlers())
	return api, page
}

// stop finishes the requests under way, ends the segments, and releases the worker ID. The listener
// for operators is the last: probes and scrapes are answered up to the end.
func (s *Service) stop(api *httpapi.Server) {
	s.logger.Info("stopping", "drain", s.cfg.Drain)
	s.notify(daemon.SdNotifyStopping)
	api.Drain()
	s.api.ending.Store(true)
	s.admin.ending.Store(true)
	time.Sleep(s.cfg.Drain)
	close(s.ending)
	s.api.end(cmp.Or(s.cfg.linger, lingerTime))
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.cfg.grace, graceTime))
	defer cancel()
	if err := errors.Join(s.api.server.Shutdown(ctx), s.admin.server.Shutdown(ctx)); err != nil {
		s.closeListeners()
		s.logger.Warn("requests were cut off", "error", err)
	}
	s.segments.Close()
	_ = s.generator.Close() // it logs its error; the lease then expires by itself
	s.logger.Info("stopped", "issued", s.generator.Stats().Issued)
}

// notify reports a state to systemd, if systemd started the process.
func (s *Service) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.logger.Warn("systemd not notified", "state", state, "error", err)
	}
}
