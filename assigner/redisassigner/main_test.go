package redisassigner_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// namespace is used by the cases; the other names are its keys.
const (
	namespace = "orders-1.eu_west"
	metas     = "{uidring}:meta"
	folders   = "{uidring}:worker/" + namespace
)

func TestMain(m *testing.M) {
	segmenttest.Child(func(addr string) (segment.Source, error) {
		return redisassigner.SegmentSource(redis.NewClient(options(addr)), redisassigner.SegmentConfig{}), nil
	})
	os.Exit(m.Run())
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

// backend returns a func that opens a namespace on a server of its own: cases run side by side, and
// take it down. Clients send a call again as often as retries says; 0: by default.
func backend(retries int) func(t *testing.T) assignertest.StoreFixture {
	return func(t *testing.T) assignertest.StoreFixture {
		s := testserver.Redis(t)
		admin := connect(t, options(s.Addr()))
		b := stores.Backend{
			Servers: []*testserver.Server{s},
			Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
				opt := options(s.Addr())
				opt.Dialer, opt.MaxRetries = dial, retries
				return redisassigner.LeaseStore(connect(t, opt), namespace)
			},
			Remove: func(t *testing.T, key string) {
				t.Helper()
				hash, field := path.Split("{uidring}:" + key)
				hash = strings.TrimSuffix(hash, "/")
				remove := admin.HDel(t.Context(), hash, field)
				if field == "" {
					remove = admin.Del(t.Context(), hash, hash+"/0000000000000000")
				}
				n, err := remove.Result()
				if n == 0 || err != nil {
					t.Fatalf("delete %s: %d, %v", key, n, err)
				}
			},
		}
		f := b.Namespaces()(t)
		f.Starts = 50 // each lease must be renewed a few seconds after its claim, also on a busy machine
		return f
	}
}
