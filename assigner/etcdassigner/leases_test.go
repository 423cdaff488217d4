package etcdassigner_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
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
	l, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if err != nil {
		t.Fatal(err)
	}
	identity := look(t, s).Identity
	for i := range 3 {
		limit := l.Grant().Limit
		if i == 1 {
			servers[first].Kill9()
		}
		poll.Succeeds(t, "a renewal", func() error { return l.Renew(t.Context(), limit, limit+100) })
		row, err := s.Load(t.Context(), l.Grant().WorkerID)
		if err != nil || row.Fence != l.Grant().Limit || row.Fence < limit+100 {
			t.Errorf("row %+v, %v; want fence %d, above %d", row, err, l.Grant().Limit, limit)
		}
	}
	if got := look(t, s).Identity; got != identity {
		t.Errorf("identity %q under another leader, was %q", got, identity)
	}
}

func TestConformanceOfLeasedAsAnAssigner(t *testing.T) {
	server := testserver.Etcd(t)
	var namespaces atomic.Int64
	assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
		name := fmt.Sprint("namespace-", namespaces.Add(1))
		return assignertest.AssignerFixture{
			Assigner: func(string) assigner.Assigner {
				return assigner.Leased(etcdassigner.LeaseStore(connect(t, server.DSN()), name), assigner.LeaseConfig{})
			},
			Guarantee: assigner.GuaranteeFenced,
			Reusable:  true,
			Delete:    fixture(server)(t, name).Delete,
			Pinned:    true,
		}
	})
}

func TestProcessesAtOnceGetDifferentWorkers(t *testing.T) {
	const processes = 20
	server := testserver.Etcd(t)
	if got := assignertest.Processes(t, processes, func(int) string { return server.DSN() }); len(got) != processes {
		t.Errorf("%d processes have a worker, want %d", len(got), processes)
	}
}

// sample returns a row with a holder.
func sample() assigner.Row {
	return assigner.Row{WorkerID: 7, Version: 6, Fence: 5000, Token: "T", Owner: "O"}
}

// create writes a row and returns it as the store has it.
func create(t *testing.T, s assigner.Store, row assigner.Row) assigner.Row {
	t.Helper()
	if ok, err := s.Swap(t.Context(), assigner.Row{}, row, time.Hour); !ok || err != nil {
		t.Fatalf("create: %v, %v", ok, err)
	}
	return load(t, s, row.WorkerID)
}

func load(t *testing.T, s assigner.Store, workerID int64) assigner.Row {
	t.Helper()
	row, err := s.Load(t.Context(), workerID)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func look(t *testing.T, s assigner.Store) assigner.Status {
	t.Helper()
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
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
		for _, err := range everyCall(t, etcdassigner.LeaseStore(tt.client, tt.namespace), patience) {
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "assigner: ") {
					t.Errorf("namespace %q: %v; want %q", tt.namespace, err, part)
				}
			}
		}
	}
}

func TestForeignRecordsAreRefused(t *testing.T) {
	client := connect(t, testserver.Etcd(t).DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	row, meta := rowKey(7), metaKey
	for _, tt := range []struct {
		key, text string
		sentinel  error
		want      string
	}{
		{row, "mine", nil, "was not written by this package"},
		{row, `{"Format":2,"Value":{}}`, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{row, `{}`, assigner.ErrLayoutMismatch, "format 0, here 1"},
		{meta, `{"Format":2,"Value":{}}`, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{meta, "[]", nil, "was not written by this package"},
	} {
		if _, err := client.Put(t.Context(), tt.key, tt.text); err != nil {
			t.Fatal(err)
		}
		all := everyCall(t, s, patience)
		_, errLoad := s.Load(t.Context(), 7)
		errs := []error{errLoad, all[4], all[5], all[6]} // of the calls that read rows
		if tt.key == meta {
			errs = append(all[1:3], all[7])
		}
		for _, err := range errs {
			if err == nil || tt.sentinel != nil && !errors.Is(err, tt.sentinel) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), strings.TrimPrefix(tt.key, "uidring/")) {
				t.Errorf("%s with %s: %v; want %q", tt.key, tt.text, err, tt.want)
			}
		}
	}
}

// More rows than fit in a page, and a neighbour whose name begins alike.
func TestListReturnsEveryRowOfManyPages(t *testing.T) {
	const rows = 2500
	client := connect(t, testserver.Etcd(t).DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	row := create(t, s, sample())
	create(t, etcdassigner.LeaseStore(client, namespace+"0"), assigner.Row{WorkerID: 1, Version: 1})
	for w := range int64(rows) {
		row.WorkerID = w
		if w != 7 {
			create(t, s, row)
		}
	}
	got, err := s.List(t.Context())
	if err != nil || len(got) != rows {
		t.Fatalf("%d rows, want %d: %v", len(got), rows, err)
	}
	seen := make([]bool, rows)
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
