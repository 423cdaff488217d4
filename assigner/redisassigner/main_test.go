package redisassigner_test

import (
	"os"
	"strconv"
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

// namespace is used by the cases; the other names are its keys, and the key that has all names.
const (
	namespace = "orders-1.eu_west"
	hash      = "uidring:" + namespace
	expiry    = "{" + hash + "}:expiry"
	names     = "{uidring}:namespaces"
)

func TestMain(m *testing.M) {
	assignertest.Child(func(addr string) (assigner.Assigner, error) {
		return assigner.Leased(redisassigner.LeaseStore(redis.NewClient(options(addr)), namespace), quick()), nil
	})
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
			t.Cleanup(func() { wantIndexed(t, admin, redisassigner.LeaseStore(admin, namespace)) })
		},
		Delete: func(t *testing.T, workerID int64) {
			t.Helper()
			if n, err := admin.HDel(t.Context(), hash, strconv.FormatInt(workerID, 10)).Result(); n != 1 || err != nil {
				t.Fatalf("%d rows deleted: %v", n, err)
			}
		},
		Clear: func(t *testing.T) {
			t.Helper()
			if n, err := admin.Del(t.Context(), hash, expiry).Result(); n != 2 || err != nil {
				t.Fatalf("%d keys deleted: %v", n, err)
			}
		},
		Down: func(*testing.T) (up func()) {
			s.Kill9()
			return func() { s.Restart() }
		},
	}
}
