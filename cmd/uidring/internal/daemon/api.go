package daemon

import (
	"fmt"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// newTokens returns the tokens of a file.
func newTokens(file string) *watchedFile[httpapi.Tokens] {
	return &watchedFile[httpapi.Tokens]{
		name:     "tokens",
		files:    []string{file},
		parse:    func(contents [][]byte) (httpapi.Tokens, error) { return httpapi.ParseTokens(contents[0]) },
		describe: httpapi.Tokens.String,
	}
}

// api returns the API with the page, for a generator.
func (s *Service) api(g *cached.Generator) (*httpapi.Server, error) {
	alloc, err := bitsalloc.New(s.cfg.Generator.Layout, s.cfg.Generator.Epoch)
	if err != nil {
		return nil, err
	}
	cfg := httpapi.Config{
		Generator:     g,
		MaxBatch:      s.cfg.MaxBatch,
		Rate:          s.cfg.Rate,
		Burst:         s.cfg.Burst,
		MaxConcurrent: s.cfg.MaxRequests,
		Segments:      s.segments,
		Leases:        s.leases.handler(),
		Page: dashboard.New(dashboard.Config{
			Stats:     g.Stats,
			Allocator: alloc,
			Segments:  s.segments,
			Version:   s.cfg.Version,
			StoreName: s.storeName(),
			Done:      s.ending,
		}),
		Store: httpapi.Store{
			Name:      s.store.String(),
			Namespace: s.cfg.Namespace,
			ID:        s.storeID,
			Local:     s.store.Path() != "",
		},
		Logger: s.logger,
	}
	if s.redis != nil {
		cfg.Collectors = s.redis.Collectors()
	}
	if s.tokens != nil {
		cfg.Tokens = func() httpapi.Tokens { return *s.tokens.current() }
	}
	if s.leaseTokens != nil {
		cfg.LeaseTokens = func() httpapi.Tokens { return *s.leaseTokens.current() }
	}
	return httpapi.New(cfg)
}

// storeName describes the store on the page.
func (s *Service) storeName() string {
	name := fmt.Sprintf("%s, namespace %s", s.store, s.cfg.Namespace)
	if s.store.Path() != "" {
		name += ", of this host only"
	}
	return name
}
