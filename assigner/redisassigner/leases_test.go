package redisassigner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestConformance(t *testing.T) {
	t.Parallel() // it waits for quarantines, as the other parallel tests do
	assignertest.RunStore(t, namespaces(t, 0))
}

// The client sends a call again when its connection ends, unless MaxRetries keeps it from that.
func TestExample(t *testing.T) {
	t.Setenv("IDS_REDIS", testserver.Redis(t).Addr())
	testkit.Example(t, ExampleLeaseStore)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{3, -1} {
		assignertest.RunFaults(t, namespaces(t, retries))
	}
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	cluster := func(opt *redis.ClusterOptions) redis.UniversalClient {
		opt.Addrs = []string{"127.0.0.1:1"}
		return testkit.Close(t, redis.NewClusterClient(opt), nil)
	}
	caching := options("127.0.0.1:1")
	caching.ClientSideCacheConfig, caching.Protocol = &redis.ClientSideCacheConfig{}, 3
	ring := testkit.Close(t, redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}}), nil)
	stores.Fail(t, redisassigner.LeaseStore(nil, "a", redisassigner.Config{}), "client is nil")
	stores.Fail(t, redisassigner.LeaseStore(ring, "a", redisassigner.Config{}), "assigner: ", "Ring")
	stores.Fail(t, redisassigner.LeaseStore(connect(t, caching), "a", redisassigner.Config{}), "ClientSideCache")
	stores.Fail(t, redisassigner.LeaseStore(cluster(&redis.ClusterOptions{RouteByLatency: true}), "a", redisassigner.Config{}), "RouteByLatency")
	stores.Fail(t, redisassigner.LeaseStore(cluster(&redis.ClusterOptions{ReadOnly: true}), "a/b", redisassigner.Config{}), "ReadOnly", `namespace "a/b"`)
}

// Keys are routed, and commands without a key go anywhere.
func TestLeaseStoreWorksOnACluster(t *testing.T) {
	servers := testserver.RedisCluster(t, 3)
	for _, server := range servers {
		addUser(t, connect(t, options(server.Addr())), append(rights(), "+config|get", "+cluster|slots")...)
	}
	addrs := []string{servers[2].Addr()}
	admin := testkit.Close(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true}), nil)
	client := testkit.Close(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Username: "ids", Password: "hunter2", ContextTimeoutEnabled: true}), nil)
	s := redisassigner.LeaseStore(client, namespace, redisassigner.Config{})
	// The names of the neighbours begin alike.
	stores.ListHasAllFolders(t, s, 0, "", redisassigner.LeaseStore(admin, namespace+"0", redisassigner.Config{}), redisassigner.LeaseStore(admin, "orders", redisassigner.Config{}))
	if err := errors.Join(stores.EveryCall(t.Context(), t, s, time.Minute)...); err != nil {
		t.Error(err)
	}
	checkFaults(t, s, nil)
}
