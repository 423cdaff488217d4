package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/server"
	"github.com/uidring/uidring/cmd/uidring/internal/store"
)

// A Service is a process that serves. Make one with [New] and call its Run once.
type Service struct {
	cfg         Config
	logger      *slog.Logger
	store       *store.Store
	storeID     string                     // of its namespace; "" where it is not known
	known       []knownStore               // of this host, as noted before
	certificate *reloaded[tls.Certificate] // nil: no TLS
	tokens      *reloaded[server.Tokens]   // nil: no tokens are asked for
	gate        gate
	newcomers   newcomers
	ending      chan struct{} // closed when event streams have to end
}

// New checks the configuration, reads the files that it names, and opens the store, see store.Open.
// It reports all mistakes at once. Run has to follow.
func New(cfg Config) (*Service, error) {
	s := &Service{cfg: cfg, logger: cfg.Logger, ending: make(chan struct{})}
	err := cfg.check()
	if cfg.CertFile != "" && cfg.KeyFile != "" {
		s.certificate = newCertificate(cfg.CertFile, cfg.KeyFile)
		err = errors.Join(err, s.certificate.load())
	}
	if cfg.TokenFile != "" {
		s.tokens = newTokens(cfg.TokenFile)
		err = errors.Join(err, s.tokens.load())
	}
	var errStore error
	s.store, errStore = store.Open(cfg.DSN, cfg.Namespace)
	if err = errors.Join(err, errStore); err != nil {
		s.closeStore()
		return nil, err
	}
	return s, nil
}

// Run serves until ctx ends, and returns nil then. It returns an error when it cannot listen, when
// it gets no worker ID because the store is out of reach or refuses, and ErrSecondStore. It does
// not try again, since systemd and others do. SIGHUP has it read its files again while it runs.
func (s *Service) Run(ctx context.Context) error {
	defer s.closeStore()
	l, err := s.cfg.listen(ctx)
	if err != nil {
		return err
	}
	s.logger.Info("listening", "address", l.Addr().String(), "tls", s.certificate != nil, "tokens", s.tokens != nil)

	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	w := newWatch(s.files(), s.reload, s.logger)
	group.Go(func() { w.run(background) })
	return s.serve(ctx, l)
}

// files are those that may change while the process runs.
func (s *Service) files() (files []string) {
	if s.certificate != nil {
		files = append(files, s.certificate.files...)
	}
	if s.tokens != nil {
		files = append(files, s.tokens.files...)
	}
	return files
}

// reload reads them again.
func (s *Service) reload(asked bool) {
	if s.certificate != nil {
		s.certificate.refresh(asked, s.logger)
	}
	if s.tokens != nil {
		s.tokens.refresh(asked, s.logger)
	}
}

func (s *Service) closeStore() {
	if s.store == nil {
		return
	}
	if err := s.store.Close(); err != nil {
		s.logger.Warn("store not closed", "store", s.store.String(), "error", err)
	}
}

// serve answers on l from the start, takes a worker ID, and does all that in reverse when ctx ends.
func (s *Service) serve(ctx context.Context, l net.Listener) error {
	h := newHTTPServer(&s.gate, s.certificate != nil, s.logger)
	h.ConnState = s.newcomers.track
	failed := make(chan error, 1)
	go func() { failed <- s.accept(h, l) }()
	generator, err := s.generator(ctx)
	if err != nil {
		_ = h.Close() // nobody has been promised anything
		<-failed
		if ctx.Err() != nil {
			s.logger.Info("stopped", "issued", 0)
			return nil
		}
		return err
	}
	api, err := s.api(generator)
	if err != nil {
		return errors.Join(err, h.Close(), <-failed, generator.Close())
	}
	s.gate.open(api)
	s.notify(daemon.SdNotifyReady)
	s.logger.Info("ready", "worker", generator.WorkerID(), "store", s.store.String(), "namespace", s.cfg.Namespace, "store_id", s.storeID,
		"this_host_only", s.store.Path() != "")
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.stop(h, l, api, generator)
	return err
}

// accept returns nil once h or l is closed.
func (s *Service) accept(h *http.Server, l net.Listener) error {
	err := error(nil)
	if s.certificate != nil {
		h.TLSConfig = tlsConfig(s.certificate, s.cfg.MinTLS)
		err = h.ServeTLS(l, "", "")
	} else {
		err = h.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("listen %s: %w", l.Addr(), err)
}

// generator takes a worker ID. It waits for the end of a quarantine, and else for at most the time
// that a call to the store may take.
func (s *Service) generator(ctx context.Context) (*cached.Generator, error) {
	blank, err := s.makeStore(ctx)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.store, err)
	}
	lease, cfg := s.cfg.Lease, s.cfg.Generator
	lease.Logger, cfg.Logger = s.logger, s.logger
	cfg.Assigner = assigner.Leased(s.store.Store, lease)
	cfg.AssignTimeout = storeTimeout
	g, err := cached.NewContext(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.store, renamed{err})
	}
	if blank {
		s.logger.Warn("new store: a server with another store gives out the same IDs",
			"path", s.store.Path(), "namespace", s.cfg.Namespace)
	}
	s.noteStore(ctx)
	return g, nil
}

// makeStore makes the missing parts of the store, unless another store is expected, and reports
// whether nothing was there.
func (s *Service) makeStore(ctx context.Context) (blank bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if blank, err = s.checkStore(ctx); err == nil && s.cfg.CreateSchema {
		err = s.store.Create(ctx)
	}
	return blank, err
}

// stop lets no request fail that is under way, but for those that take longer than the grace, and
// gives the worker ID back.
func (s *Service) stop(h *http.Server, l net.Listener, api *server.Server, generator *cached.Generator) {
	s.logger.Info("stopping", "drain", s.cfg.Drain, "grace", s.cfg.Grace)
	s.notify(daemon.SdNotifyStopping)
	api.Drain()
	s.gate.drain()
	time.Sleep(s.cfg.Drain)
	close(s.ending)
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Grace)
	defer cancel()
	_ = l.Close() // what can be wrong with a socket does not matter any more
	s.newcomers.wait(ctx)
	if err := h.Shutdown(ctx); err != nil {
		s.logger.Warn("requests were cut off", "error", err)
		_ = h.Close()
	}
	_ = generator.Close() // it has logged why the worker ID was not released; it expires by itself then
	s.logger.Info("stopped", "issued", generator.Stats().Issued)
}

// notify tells systemd, if that has started the process.
func (s *Service) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.logger.Warn("systemd not told", "state", state, "error", err)
	}
}
