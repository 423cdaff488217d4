// Package respapi serves IDs over the Redis protocol, RESP2 and RESP3. Any client library of
// Redis is then a client of the ID service:
//
//	UID.NEXT        an ID
//	UID.NEXT 1000   an array of IDs
//	INCR orders     the next number of the segment orders
//
// IDs are bulk strings: clients in languages whose numbers have 53 bits would round integers, and
// rounded IDs are duplicates. The tokens (AUTH) and limits of the HTTP API apply.
package respapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/cmd/uidring/internal/conns"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// A Server serves connections. Any number of goroutines may use it.
type Server struct {
	set      *conns.Set
	logger   *slog.Logger
	metrics  *metrics
	commands map[string]command
	api      atomic.Pointer[httpapi.Server] // nil: the worker ID is being taken
	ids      atomic.Int64                   // of connections
	ctx      context.Context                // of calls that wait for IDs
	cancel   context.CancelFunc

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool
	group   sync.WaitGroup // of conns
}

// New returns a server whose connections belong to a set. It answers commands with the error
// LOADING until Open is called.
func New(set *conns.Set, logger *slog.Logger) *Server {
	s := &Server{set: set, logger: logger, metrics: newMetrics(), commands: newCommands(), conns: make(map[*conn]struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Collectors returns the metrics of the server.
func (s *Server) Collectors() []prometheus.Collector { return s.metrics.all() }

// Open lets clients draw IDs of an API.
func (s *Server) Open(api *httpapi.Server) { s.api.Store(api) }

// Serve serves the connections of l, a listener of the set or TLS above one. It returns nil after
// Shutdown.
func (s *Server) Serve(l net.Listener) error {
	const shortest, longest = 5 * time.Millisecond, time.Second
	for pause := shortest; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = shortest
			s.accept(conn)
		case errors.Is(err, net.ErrClosed) && s.ended():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("redis-listen %s: %w", l.Addr(), err)
		default: // such as too many open files
			s.logger.Warn("Redis connection not accepted", "error", err)
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
			}
			pause = min(2*pause, longest)
		}
	}
}

func (s *Server) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// accept starts the goroutine of a connection.
func (s *Server) accept(raw net.Conn) {
	c := newConn(s, raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		_ = raw.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.metrics.connections.Inc()
	s.group.Go(func() {
		defer s.forget(c)
		c.serve()
	})
}

func (s *Server) forget(c *conn) {
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.metrics.connections.Dec()
}

// Shutdown answers the commands that were received, and closes the connections. It closes them at
// once when ctx ends, and returns its error. Close the listener as well.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for c := range s.conns {
		c.stop()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.group.Wait()
		close(done)
	}()
	defer s.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.raw.Close()
	}
	s.mu.Unlock()
	<-done
	return ctx.Err()
}
