package redisassigner_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
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
	return testkit.Close(t, redis.NewClient(opt), nil)
}

// namespaces returns a func that opens empty namespaces on a server. Clients send a call again as
// often as retries says; 0: by default.
func namespaces(t *testing.T, retries int) func(t *testing.T) assignertest.StoreFixture {
	b := stores.Backend{
		Servers: []*testserver.Server{testserver.Redis(t)},
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			opt := options(s.Addr())
			opt.Dialer, opt.MaxRetries = dial, retries
			return redisassigner.LeaseStore(connect(t, opt), namespace, redisassigner.Config{})
		},
	}
	return b.Namespaces()
}
