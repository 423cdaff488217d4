package service

import (
	"fmt"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/page"
	"github.com/uidring/uidring/cmd/uidring/internal/server"
)

// newTokens returns the tokens of a file.
func newTokens(file string) *reloaded[server.Tokens] {
	return &reloaded[server.Tokens]{
		name:     "tokens",
		files:    []string{file},
		parse:    func(contents [][]byte) (server.Tokens, error) { return server.ParseTokens(contents[0]) },
		describe: server.Tokens.String,
	}
}

// api returns the API with the page, for a generator.
func (s *Service) api(g *cached.Generator) (*server.Server, error) {
	alloc, err := bitsalloc.New(s.cfg.Generator.Layout, s.cfg.Generator.Epoch)
	if err != nil {
		return nil, err
	}
	cfg := server.Config{
		Generator:     g,
		MaxBatch:      s.cfg.MaxBatch,
		Rate:          s.cfg.Rate,
		Burst:         s.cfg.Burst,
		MaxConcurrent: s.cfg.MaxRequests,
		Page: page.New(page.Config{
			Stats:     g.Stats,
			Allocator: alloc,
			Version:   s.cfg.Version,
			StoreName: s.storeName(),
			Done:      s.ending,
		}),
		Store: server.Store{
			Name:      s.store.String(),
			Namespace: s.cfg.Namespace,
			ID:        s.storeID,
			Local:     s.store.Path() != "",
		},
		Logger: s.logger,
	}
	if s.tokens != nil {
		cfg.Tokens = func() server.Tokens { return *s.tokens.current() }
	}
	return server.New(cfg)
}

// storeName describes the store on the page.
func (s *Service) storeName() string {
	name := fmt.Sprintf("%s, namespace %s", s.store, s.cfg.Namespace)
	if s.store.Path() != "" {
		name += ", of this host only"
	}
	return name
}
