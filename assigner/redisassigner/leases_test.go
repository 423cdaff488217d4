package redisassigner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/stores"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

func TestConformance(t *testing.T) {
	t.Parallel() // it waits for quarantines, as the other parallel tests do
	assignertest.RunStore(t, backend)
}

// The client sends a call again when its connection ends, unless MaxRetries keeps it from that.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{3, -1} {
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			t.Parallel()
			assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture { return backendWith(t, retries) })
		})
	}
}

// sample returns a row with a holder.
func sample() assigner.Row {
	return assigner.Row{WorkerID: 7, Version: 6, Fence: 5000, Token: "T", Owner: "O"}
}

func TestNamespacesAndClientsThatDoNotFitAreRefused(t *testing.T) {
	client := redis.NewClient(options("127.0.0.1:1"))
	defer client.Close()
	cluster := func(opt *redis.ClusterOptions) redis.UniversalClient {
		c := redis.NewClusterClient(opt)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	caching := options("127.0.0.1:1")
	caching.ClientSideCacheConfig, caching.Protocol = &redis.ClientSideCacheConfig{}, 3
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	for _, tt := range []struct {
		client    redis.UniversalClient
		namespace string
		want      []string
	}{
		{client, "", []string{`namespace "", allowed: 1 to 64`}},
		{nil, "a", []string{"client is nil"}},
		{ring, "a", []string{"Ring"}},
		{connect(t, caching), "a", []string{"ClientSideCache"}},
		{cluster(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, RouteByLatency: true}), "a", []string{"RouteByLatency"}},
		{cluster(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ReadOnly: true}), "a/b", []string{"ReadOnly", `"a/b"`}},
	} {
		for _, err := range stores.EveryCall(t.Context(), redisassigner.LeaseStore(tt.client, tt.namespace), sample(), time.Minute) {
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "assigner: ") {
					t.Errorf("%T, namespace %q: %v; want %q", tt.client, tt.namespace, err, part)
				}
			}
		}
	}
}

// A cluster of one server: keys are routed, and commands without a key go anywhere.
func TestClusterKeepsLeases(t *testing.T) {
	server := testserver.Redis(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no")
	admin := connect(t, options(server.Addr()))
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the cluster is ready", func() bool {
		info, err := admin.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	addUser(t, admin, append(rights(), "+config|get", "+cluster|slots")...)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}, Username: "ids", Password: "hunter2", ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	s := redisassigner.LeaseStore(client, namespace)
	status, err := s.Status(t.Context())
	if err != nil || !status.Lossy || len(status.Faults) > 0 || time.Since(status.Now).Abs() > time.Minute {
		t.Errorf("status %+v, %v; want a lossy store without faults", status, err)
	}
	row := stores.Create(t, s, sample(), time.Hour)
	next := row
	next.Fence++
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); !ok || err != nil {
		t.Errorf("Swap: %v, %v", ok, err)
	}
	if rows, err := s.List(t.Context()); err != nil || len(rows) != 1 || rows[0].Fence != next.Fence {
		t.Errorf("rows %+v, %v; want one with fence %d", rows, err, next.Fence)
	}
	if ok, err := s.Swap(t.Context(), next, next, 0); !ok || err != nil {
		t.Errorf("Swap: %v, %v", ok, err)
	}
	if rows, err := s.Expired(t.Context(), 10); err != nil || len(rows) != 1 {
		t.Errorf("expired rows %+v, %v; want one", rows, err)
	}
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, assigner.Meta{Version: 1}); !ok || err != nil {
		t.Errorf("SwapMeta: %v, %v", ok, err)
	}
	if found, err := s.(assigner.Namespaced).Namespaces(t.Context()); err != nil || len(found) != 1 {
		t.Errorf("namespaces %v, %v; want one", found, err)
	}
}

// The names of the neighbours begin alike.
func TestListReturnsTheRowsOfAllFolders(t *testing.T) {
	client := connect(t, options(testserver.Redis(t).Addr()))
	stores.ListHasAllFolders(t, redisassigner.LeaseStore(client, "orders"), redisassigner.LeaseStore(client, "orders0"), redisassigner.LeaseStore(client, "order"))
}
