package daemon

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// newTokens returns the tokens of a file, which a setting names.
func newTokens(setting, file string) *watchedFile[httpapi.Tokens] {
	return &watchedFile[httpapi.Tokens]{
		name:   setting,
		files:  []string{file},
		secret: file,
		parse:  func(contents [][]byte) (httpapi.Tokens, error) { return httpapi.ParseTokens(contents[0]) },
		describe: func(earlier *httpapi.Tokens, now httpapi.Tokens) string {
			if earlier == nil {
				earlier = new(httpapi.Tokens)
			}
			return now.Changes(*earlier)
		},
	}
}

// api returns the API, which clients reach at a port, and its page, for a generator.
func (s *Service) api(g *cached.Generator, port string) (api *httpapi.Server, page *dashboard.Page, err error) {
	alloc, err := bitsalloc.New(s.cfg.Generator.Layout, s.cfg.Generator.Epoch)
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname() // without a name, the page shows none
	page = dashboard.New(dashboard.Config{
		Stats:      g.Stats,
		Unready:    func() string { return api.Unready() },
		Refusal:    func() string { return api.Refusal() },
		Metrics:    func() prometheus.Gatherer { return api.RequestMetrics() },
		Store:      s.store,
		Window:     s.cfg.Lease.Window,
		MaxAhead:   s.cfg.Generator.MaxAhead,
		Allocator:  alloc,
		Segments:   s.segments,
		Version:    s.cfg.Version,
		Host:       host,
		Namespace:  s.cfg.Namespace,
		Tokens:     s.tokens != nil,
		StoreCalls: &s.storeCalls,
		StoreName:  s.store.String(),
		Local:      s.store.Path() != "",
		APIPort:    port,
		Done:       s.ending,
	})
	cfg := httpapi.Config{
		Settings:     s.cfg.Settings,
		Generator:    g,
		MaxAhead:     s.cfg.Generator.MaxAhead,
		IDsPerSecond: float64(alloc.MaxSequence()+1) / alloc.Layout().Unit.Seconds(),
		Segments:     s.segments,
		Page:         page.Handlers(),
		Leases:       s.leases.handler(),
		Store: httpapi.Store{
			Name:      s.store.String(),
			Namespace: s.cfg.Namespace,
			ID:        s.storeID,
			Local:     s.store.Path() != "",
		},
	}
	if s.certificate != nil {
		cfg.Collectors = append(cfg.Collectors, expiry(s.certificate))
	}
	if s.tokens != nil {
		cfg.Tokens = func() httpapi.Tokens { return *s.tokens.current() }
	}
	if s.leaseTokens != nil {
		cfg.LeaseTokens = func() httpapi.Tokens { return *s.leaseTokens.current() }
	}
	api, err = httpapi.New(cfg)
	return api, page, err
}
