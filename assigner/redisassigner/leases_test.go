package redisassigner_test

import (
	"errors"
	"fmt"
	"strconv"
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

func TestProcessesAtOnceGetDifferentWorkers(t *testing.T) {
	s := testserver.Redis(t)
	assignertest.Processes(t, 20, func(int) string { return s.Addr() })
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

func TestForeignRecordsAreRefused(t *testing.T) {
	client := connect(t, options(testserver.Redis(t).Addr()))
	s := redisassigner.LeaseStore(client, namespace)
	for _, tt := range []struct {
		field, text string
		sentinel    error
		want        string
	}{
		{"7", "mine", nil, `field "7" was not written by this package`},
		{"x", `{"Format":1,"Version":"1","Fence":"1"}`, nil, `field "x" was not written by this package`},
		{"7", `{"Format":2,"Version":"1","Fence":"1"}`, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{"meta", `{"Format":2,"Version":"1"}`, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{"meta", "[]", nil, `field "meta" was not written by this package`},
	} {
		if err := client.Del(t.Context(), hash).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.HSet(t.Context(), hash, tt.field, tt.text).Err(); err != nil {
			t.Fatal(err)
		}
		read := func() (err error) { _, err = s.List(t.Context()); return err }
		if tt.field == "meta" {
			read = func() (err error) { _, err = s.LoadMeta(t.Context()); return err }
		}
		if err := read(); err == nil || tt.sentinel != nil && !errors.Is(err, tt.sentinel) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("field %s with %s: %v; want %q", tt.field, tt.text, err, tt.want)
		}
	}
}

// All 131,072 worker IDs of the default layout.
func TestListReturnsEveryRowOfAFullNamespace(t *testing.T) {
	const rows = 131072
	opt := options(testserver.Redis(t).Addr())
	opt.ReadTimeout = time.Minute
	client := connect(t, opt)
	s := redisassigner.LeaseStore(client, namespace)
	row := stores.Create(t, s, sample(), time.Hour)
	text, err := client.HGet(t.Context(), hash, "7").Result()
	if err != nil {
		t.Fatal(err)
	}
	const batch = 4096
	for first := 0; first < rows; first += batch {
		fields := make([]string, 0, 2*batch)
		for w := range batch {
			fields = append(fields, strconv.Itoa(first+w), text)
		}
		if err := client.HSet(t.Context(), hash, fields).Err(); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	got, err := s.List(t.Context())
	t.Logf("%d rows of %d bytes in %v", len(got), len(text), time.Since(begin))
	if err != nil || len(got) != rows {
		t.Fatalf("%d rows, want %d: %v", len(got), rows, err)
	}
	seen := make([]bool, rows)
	for _, r := range got {
		seen[r.WorkerID] = true
		row.WorkerID = r.WorkerID
		if r != row {
			t.Fatalf("row %+v, want %+v", r, row)
		}
	}
	for w, ok := range seen {
		if !ok {
			t.Errorf("row %d is missing", w)
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
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta(namespace)); !ok || err != nil {
		t.Errorf("SwapMeta: %v, %v", ok, err)
	}
	wantNamespaces(t, s.(assigner.Namespaced), namespace)
	slots := make([]int64, 2)
	for i, key := range []string{hash, expiry} {
		if slots[i], err = admin.ClusterKeySlot(t.Context(), key).Result(); err != nil {
			t.Fatal(err)
		}
	}
	if slots[0] != slots[1] {
		t.Errorf("%s and %s are in the slots %d", hash, expiry, slots)
	}
}

func TestEveryRecordIsPlainJSON(t *testing.T) {
	client := connect(t, options(testserver.Redis(t).Addr()))
	stores.Create(t, redisassigner.LeaseStore(client, namespace), sample(), time.Hour)
	text, err := client.HGet(t.Context(), hash, "7").Result()
	if err != nil {
		t.Fatal(err)
	}
	var written int64
	var swap string
	const shape = `{"Written":%d,"Format":1,"Swap":%q,"Version":"6","Fence":"5000","Token":"T","Owner":"O","Holder":"","Identity":"","TTL":3600000000}`
	if n, err := fmt.Sscanf(text, shape, &written, &swap); n != 2 || err != nil {
		t.Errorf("record %s, want the shape of %s: %v", text, shape, err)
	}
	if at := time.UnixMicro(written); time.Since(at).Abs() > time.Minute {
		t.Errorf("written at %v", at)
	}
}
