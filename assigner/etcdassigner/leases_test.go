package etcdassigner_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/stores"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// Handles are on the leader and on the followers, and each member is killed.
func TestConformance(t *testing.T) {
	t.Parallel()
	open := namespaces(testserver.EtcdCluster(t, 3)...)
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

func TestFaultsOfASingleServer(t *testing.T) {
	t.Parallel()
	assignertest.RunFaults(t, namespaces(testserver.Etcd(t)))
}

// namespaces returns a function that opens empty namespaces.
func namespaces(servers ...*testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	open := fixture(servers...)
	var names atomic.Int64
	return func(t *testing.T) assignertest.StoreFixture { return open(t, fmt.Sprint("namespace-", names.Add(1))) }
}

func TestLeaderThatDiesForgetsNoFence(t *testing.T) {
	t.Parallel()
	servers := testserver.EtcdCluster(t, 3)
	first := leader(t, servers)
	s := etcdassigner.LeaseStore(connect(t, servers[(first+1)%3].DSN()), namespace)
	stores.ALostNodeForgetsNoFence(t, s, servers[first].Kill9)
}

// sample returns a row with a holder.
func sample() assigner.Row {
	return assigner.Row{WorkerID: 7, Version: 6, Fence: 5000, Token: "T", Owner: "O"}
}

func TestNamespacesAndClientsThatDoNotFitAreRefused(t *testing.T) {
	client := connect(t, "http://127.0.0.1:1")
	for _, tt := range []struct {
		client    *clientv3.Client
		namespace string
		want      []string
	}{
		{client, "", []string{`namespace "", allowed: 1 to 64`}},
		{nil, "a", []string{"client is nil"}},
		{nil, "a/b", []string{"client is nil", `"a/b"`}},
	} {
		for _, err := range stores.EveryCall(t.Context(), etcdassigner.LeaseStore(tt.client, tt.namespace), sample(), patience) {
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "assigner: ") {
					t.Errorf("namespace %q: %v; want %q", tt.namespace, err, part)
				}
			}
		}
	}
}

// More rows than fit in a page, and a neighbour whose name begins alike.
func TestListReturnsEveryRowOfManyPages(t *testing.T) {
	const n = 1100
	client := connect(t, testserver.Etcd(t).DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	row := stores.Create(t, s, sample(), time.Hour)
	stores.Create(t, etcdassigner.LeaseStore(client, namespace+"0"), assigner.Row{WorkerID: 1, Version: 1}, time.Hour)
	for w := range int64(n) {
		row.WorkerID = w
		if w != 7 {
			stores.Create(t, s, row, time.Hour)
		}
	}
	got, err := s.List(t.Context())
	if err != nil || len(got) != n {
		t.Fatalf("%d rows, want %d: %v", len(got), n, err)
	}
	seen := make([]bool, n)
	for _, r := range got {
		seen[r.WorkerID] = true
		row.WorkerID, row.Expires = r.WorkerID, r.Expires
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
