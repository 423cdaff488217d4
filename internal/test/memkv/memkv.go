// Package memkv has a store of keys and values in memory, for tests of leases.
package memkv

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// ErrDown is the error of all calls while a server is down.
var ErrDown = errors.New("the store is down")

// A Server keeps keys and values. The zero Server is empty. Any number of goroutines may use it.
type Server struct {
	down   atomic.Bool
	mu     sync.Mutex
	values map[string]kept
}

type kept struct {
	value    []byte
	revision int
}

// Down makes all calls fail until up is called.
func (s *Server) Down() (up func()) {
	s.down.Store(true)
	return func() { s.down.Store(false) }
}

// A KV is a client of a Server, for package kvassigner. Its fields do not change while it is used.
type KV struct {
	*Server
	// Now is the clock of the server. Nil: it reports none.
	Now func() time.Time
	// Before is called at the start of each call with its method and its key or prefix, and the
	// call returns its error. Nil: the call returns the error of its context.
	Before func(ctx context.Context, method, key string) error
}

// call runs f on the values, unless the call fails before that.
func (c *KV) call(ctx context.Context, method, key string, f func(values map[string]kept)) error {
	err := ctx.Err()
	if c.Before != nil {
		err = c.Before(ctx, method, key)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down.Load() {
		return ErrDown
	}
	if c.values == nil {
		c.values = make(map[string]kept)
	}
	f(c.values)
	return nil
}

func (c *KV) Passes(err error) bool { return errors.Is(err, ErrDown) }

// Get implements kvassigner.KV, as the other methods do.
func (c *KV) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	err = c.call(ctx, "Get", key, func(values map[string]kept) {
		if v, ok := values[key]; ok {
			value, revision = v.value, strconv.Itoa(v.revision)
		}
	})
	return value, revision, err
}

func (c *KV) Put(ctx context.Context, key string, value []byte, revision string) (ok bool, err error) {
	err = c.call(ctx, "Put", key, func(values map[string]kept) {
		v, found := values[key]
		if ok = found && revision == strconv.Itoa(v.revision) || !found && revision == ""; ok {
			values[key] = kept{value, v.revision + 1}
		}
	})
	return ok, err
}

func (c *KV) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	err = c.call(ctx, "List", prefix, func(values map[string]kept) {
		for key, v := range values {
			if strings.HasPrefix(key, prefix) {
				entries = append(entries, kvassigner.Entry{Key: key, Value: v.value})
			}
		}
	})
	return entries, err
}

func (c *KV) Status(ctx context.Context) (s leasestore.Status, err error) {
	err = c.call(ctx, "Status", "", func(map[string]kept) {
		s.Identity = "memory"
		if c.Now != nil {
			s.Now = c.Now()
		}
	})
	return s, err
}
