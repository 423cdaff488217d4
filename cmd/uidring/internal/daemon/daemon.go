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
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/segment"
)

// A Service is the process of uidring serve. Create it with [New] and call Run once.
type Service struct {
	cfg         Config
	logger      *slog.Logger
	store       *storeurl.Store
	storeCalls  dashboard.StoreCalls
	storeID     string                        // ID of the namespace; "" if unknown
	known       []knownStore                  // stores of this host that were used before
	segments    *segments.Set                 // the segments of Config.Segments
	certificate *watchedFile[tls.Certificate] // nil: no TLS
	tokens      *watchedFile[httpapi.Tokens]  // nil: clients need no token
	leases      leases                        // the namespaces of Config.Leases
	leaseTokens *watchedFile[httpapi.Tokens]  // nil: clients for leases need no token
	files       []fileInUse                   // the certificate and the tokens
	ending      chan struct{}                 // closed when event streams have to end
}

// New checks the configuration, reads the files that it names, and opens the store, see
// storeurl.Open. It reports all mistakes at once. Call Run afterwards.
func New(cfg Config) (*Service, error) {
	s := &Service{cfg: cfg, logger: cfg.Logger, ending: make(chan struct{})}
	err := cfg.check()
	s.cfg.Lease.Window = cfg.window()
	load := func(f fileInUse) {
		err = errors.Join(err, f.load())
		f.checkSecret(s.logger)
		s.files = append(s.files, f)
	}
	if cfg.CertFile != "" && cfg.KeyFile != "" {
		s.certificate = newCertificate(cfg.CertFile, cfg.KeyFile)
		load(s.certificate)
	}
	if cfg.TokenFile != "" {
		s.tokens = newTokens("tokens", cfg.TokenFile)
		load(s.tokens)
	}
	if cfg.LeaseTokenFile != "" {
		s.leaseTokens = newTokens("lease-tokens", cfg.LeaseTokenFile)
		load(s.leaseTokens)
	}
	var errStore error
	s.store, errStore = storeurl.Open(cfg.StoreURL, cfg.Namespace)
	if err = errors.Join(err, errStore); err == nil {
		s.leases, err = openLeases(cfg, s.store)
	}
	if err != nil {
		s.closeStore()
		return nil, err
	}
	var counters segment.Source
	if len(cfg.Segments) > 0 {
		if counters, err = s.store.SegmentSource(cfg.Lease.AllowUndurable); err != nil {
			s.closeStore()
			return nil, err
		}
	}
	s.segments = segments.New(cfg.Segments, counters, cfg.Logger)
	return s, nil
}

// Run serves until ctx ends, and then returns nil. It returns an error if it cannot listen, or if
// it gets no worker ID because the store is unreachable or refuses, and ErrSecondStore. It does not
// retry the start: systemd and others do. On SIGHUP it reads its files again.
func (s *Service) Run(ctx context.Context) error {
	defer s.closeStore()
	api, admin := s.connections()
	sites := new(sites)
	var err error
	if sites.api, err = s.newSite(ctx, "listen", s.cfg.Listen, api); err != nil {
		return err
	}
	if sites.admin, err = s.newSite(ctx, "admin-listen", s.cfg.AdminListen, admin); err != nil {
		return errors.Join(err, sites.api.Close())
	}
	s.logger.Info("listening", "address", sites.api.Addr().String(), "admin", sites.admin.Addr().String(), "tls", s.certificate != nil, "tokens", s.tokens != nil)

	var paths []string
	for _, f := range s.files {
		f.logStart(s.logger)
		paths = append(paths, f.paths()...)
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	w := newWatch(paths, s.reload, s.logger)
	group.Go(func() { w.run(background) })
	return s.serve(ctx, sites)
}

// reload reads the files again.
func (s *Service) reload(asked bool) {
	for _, f := range s.files {
		f.refresh(asked, s.logger)
	}
}

func (s *Service) closeStore() {
	if s.store == nil {
		return
	}
	if err := errors.Join(s.leases.close(s.store), s.store.Close()); err != nil {
		s.logger.Warn("store not closed", "store", s.store.String(), "error", err)
	}
}

// sites are the two listeners.
type sites struct{ api, admin *site }

// start serves both. The returned channel receives the first error, or nil for each end.
func (n *sites) start() <-chan error {
	ended := make(chan error, 2)
	go func() { ended <- n.api.serve() }()
	go func() { ended <- n.admin.serve() }()
	return ended
}

// shutdown closes the listeners, and waits for the requests under way until ctx ends. The admin
// site is the last: probes and scrapes are answered up to the end.
func (n *sites) shutdown(ctx context.Context) error {
	err := errors.Join(n.api.server.Shutdown(ctx), n.admin.server.Shutdown(ctx))
	if err != nil {
		n.close()
	}
	return err
}

func (n *sites) close() { _, _ = n.api.server.Close(), n.admin.server.Close() }

// serve listens, takes a worker ID and serves the API. When ctx ends it undoes that in reverse.
func (s *Service) serve(ctx context.Context, sites *sites) error {
	failed := sites.start()
	generator, err := s.generator(ctx)
	if err != nil {
		sites.close() // no request was accepted yet
		if ctx.Err() != nil {
			s.logger.Info("stopped", "issued", 0)
			return nil
		}
		return err
	}
	_, port, _ := net.SplitHostPort(sites.api.Addr().String())
	api, page, err := s.api(generator, port)
	if err != nil {
		sites.close()
		return errors.Join(err, generator.Close())
	}
	shown, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the page lives until the process stops
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { page.Run(shown) })
	sites.api.open(api)
	sites.admin.open(api.Admin())
	s.notify(daemon.SdNotifyReady)
	s.logger.Info("ready", "page", sites.admin.url(), "worker", generator.WorkerID(), "store", s.store.String(), "namespace", s.cfg.Namespace, "store_id", s.storeID,
		"this_host_only", s.store.Path() != "")
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.stop(sites, api, generator)
	return err
}

// generator takes a worker ID and returns a generator. It waits for the end of a quarantine; other
// waits end after storeTimeout.
func (s *Service) generator(ctx context.Context) (*cached.Generator, error) {
	if err := s.makeStore(ctx); err != nil {
		return nil, fmt.Errorf("store %s: %w", s.store, err)
	}
	lease, cfg := s.cfg.Lease, s.cfg.Generator
	lease.Logger, cfg.Logger = s.logger, s.logger
	cfg.Assigner = assigner.Leased(s.store.Store, lease)
	cfg.AssignTimeout, cfg.Trace = storeTimeout, s.storeCalls.Trace()
	g, err := cached.NewContext(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.store, withSettings(err))
	}
	s.noteStore(ctx)
	return g, nil
}

// makeStore creates the missing parts of the store, unless the service expects another store.
func (s *Service) makeStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := s.checkStore(ctx)
	if err == nil && s.cfg.CreateSchema {
		err = s.store.Create(ctx)
		if errors.Is(err, sqlassigner.ErrAccessDenied) {
			err = fmt.Errorf("%w; a user with the right to create tables creates them by uidring schema --apply, and "+
				"create-schema=false skips this step", err)
		}
	}
	return err
}

// stop finishes the requests under way, ends the segments, and releases the
// worker ID.
func (s *Service) stop(sites *sites, api *httpapi.Server, generator *cached.Generator) {
	s.logger.Info("stopping", "drain", s.cfg.Drain)
	s.notify(daemon.SdNotifyStopping)
	api.Drain()
	sites.api.drain()
	sites.admin.drain()
	time.Sleep(s.cfg.Drain)
	close(s.ending)
	sites.api.end(cmp.Or(s.cfg.linger, lingerTime))
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.cfg.grace, graceTime))
	defer cancel()
	if err := sites.shutdown(ctx); err != nil {
		s.logger.Warn("requests were cut off", "error", err)
	}
	s.segments.Close()
	_ = generator.Close() // it logs its error; the lease then expires by itself
	s.logger.Info("stopped", "issued", generator.Stats().Issued)
}

// notify reports a state to systemd, if systemd started the process.
func (s *Service) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.logger.Warn("systemd not notified", "state", state, "error", err)
	}
}
