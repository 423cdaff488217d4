package redisassigner_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// namespace is used by the cases; the other names are its keys.
const (
	namespace = "orders-1.eu_west"
	metas     = "{uidring}:meta"
	folders   = "{uidring}:worker/" + namespace
)

// rowKey returns the hash and the field of a row.
func rowKey(workerID int64) (hash, field string) {
	return fmt.Sprintf("%s/%016d", folders, workerID/1000), fmt.Sprintf("%03d", workerID%1000)
}

func TestMain(m *testing.M) {
	segmenttest.Child(func(addr string) (segment.Source, error) {
		return redisassigner.SegmentSource(redis.NewClient(options(addr)), redisassigner.SegmentConfig{}), nil
	})
	os.Exit(m.Run())
}

// quick has a short quarantine.
func quick() assigner.LeaseConfig {
	return assigner.LeaseConfig{Window: 2 * time.Second, MaxSkew: time.Second}
}

func options(addr string) *redis.Options {
	return &redis.Options{Addr: addr, ContextTimeoutEnabled: true}
}

// connect opens a client that ends with the test.
func connect(t *testing.T, opt *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// backend is a namespace on a server of its own: cases run side by side, and take it down.
func backend(t *testing.T) assignertest.StoreFixture { return backendWith(t, 0) }

// backendWith sets the retries of clients over a wire.
func backendWith(t *testing.T, retries int) assignertest.StoreFixture {
	s := testserver.Redis(t)
	admin := connect(t, options(s.Addr()))
	return assignertest.StoreFixture{
		Starts: 50, // each lease must be renewed a few seconds after its claim, also on a busy machine
		Handle: func() assigner.Store { return redisassigner.LeaseStore(connect(t, options(s.Addr())), namespace) },
		Other:  func(name string) assigner.Store { return redisassigner.LeaseStore(connect(t, options(s.Addr())), name) },
		Through: func(w *assignertest.Wire) assigner.Store {
			opt := options(s.Addr())
			opt.Dialer, opt.MaxRetries = w.Dial, retries
			return redisassigner.LeaseStore(connect(t, opt), namespace)
		},
		Kill: func(t *testing.T) {
			s.Kill9()
			s.Restart()
		},
		Delete: func(t *testing.T, workerID int64) {
			t.Helper()
			hash, field := rowKey(workerID)
			if n, err := admin.HDel(t.Context(), hash, field).Result(); n != 1 || err != nil {
				t.Fatalf("%d rows deleted: %v", n, err)
			}
		},
		Clear: func(t *testing.T) {
			t.Helper()
			folder, _ := rowKey(0)
			rows, err1 := admin.Del(t.Context(), folders, folder).Result()
			meta, err2 := admin.HDel(t.Context(), metas, namespace).Result()
			if err := errors.Join(err1, err2); rows != 2 || meta != 1 || err != nil {
				t.Fatalf("%d keys, %d meta rows deleted: %v", rows, meta, err)
			}
		},
		Down: func(*testing.T) (up func()) {
			s.Kill9()
			return func() { s.Restart() }
		},
	}
}
