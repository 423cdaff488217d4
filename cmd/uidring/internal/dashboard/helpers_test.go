package dashboard_test

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
	"github.com/uidring/uidring/internal/testkit/testgen"
)

// A service is the API with the page before a generator. It keeps its address when it is stopped
// and started.
type service struct {
	t         *testing.T
	generator *cached.Generator
	alloc     *bitsalloc.Allocator
	tokens    httpapi.Tokens
	segments  *segments.Set // nil: none; applies when it starts
	interval  time.Duration
	addr      string
	around    func(page http.Handler) http.Handler // takes the place of the page when it starts
	tabs      []*tab
	stop      func() // does nothing when it is stopped; closes tabs that cannot be without the service
}

// newService starts a service. tokens is the text of a token file; empty: no tokens are required.
func newService(t *testing.T, cfg cached.Config, tokens string) *service {
	t.Helper()
	s := &service{t: t, generator: testgen.Cached(t, cfg), interval: 200 * time.Millisecond, addr: "127.0.0.1:0", stop: func() {},
		around: func(page http.Handler) http.Handler { return page }}
	var err error
	if s.alloc, err = bitsalloc.New(cmp.Or(cfg.Layout, bitsalloc.Default()), cfg.Epoch); err != nil {
		t.Fatal(err)
	}
	if tokens != "" {
		if s.tokens, err = httpapi.ParseTokens([]byte(tokens)); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *service) url() string { return "http://" + s.addr }

// start listens again, as another process would: with a page and an API of its own, and the same
// generator.
func (s *service) start() {
	s.t.Helper()
	done := make(chan struct{})
	api, err := httpapi.New(httpapi.Config{
		Generator: s.generator,
		Segments:  s.segments,
		Tokens:    func() httpapi.Tokens { return s.tokens },
		Page: s.around(dashboard.New(dashboard.Config{
			Stats: s.generator.Stats, Segments: s.segments, Allocator: s.alloc, Version: "v1.2.3", StoreName: "file:///var/lib/uidring", Interval: s.interval, Done: done,
		})),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	web := &http.Server{Handler: api, ReadHeaderTimeout: time.Second, WriteTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	s.stop = func() {
		s.stop = func() {}
		for _, p := range s.tabs {
			if !p.outlives {
				p.close()
			}
		}
		close(done)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := web.Shutdown(ctx); err != nil {
			s.t.Errorf("shutdown: %v", err)
		}
		<-ended
	}
}

// withSegments starts the service again with segments, whose counters are in a folder.
func (s *service) withSegments(names ...string) {
	s.t.Helper()
	source := fileassigner.SegmentSource(s.t.TempDir(), fileassigner.SegmentConfig{AllowUndurable: true})
	s.segments = segments.New(names, source, slog.New(slog.DiscardHandler))
	s.t.Cleanup(s.segments.Close)
	s.stop()
	s.start()
}

// load draws up to n IDs at a time until the test ends.
func (s *service) load(n int, every time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		dst := make([]int64, n)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if _, err := s.generator.Fill(dst[:1+rand.IntN(n)]); err != nil {
					s.t.Errorf("load: %v", err)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	s.t.Cleanup(func() { cancel(); <-ended })
}
