package natsassigner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestFaultsOfASingleServer(t *testing.T) {
	t.Parallel()
	assignertest.RunFaults(t, namespaces(t, nil, testserver.NATS(t)))
}

// Handles are on the leader and on the followers. An outage cuts their connections, since the
// servers would take ten seconds to elect another leader.
func TestConformance(t *testing.T) {
	t.Parallel()
	wire := new(faultconn.Wire)
	open := namespaces(t, wire.Dial, testserver.NATSCluster(t, 3)...)
	assignertest.RunStore(t, func(t *testing.T) assignertest.StoreFixture {
		f := open(t)
		f.Down = func(*testing.T) (up func()) { return wire.Down() }
		return f
	})
}

func TestLeaderThatDiesForgetsNoFence(t *testing.T) {
	t.Parallel()
	servers := testserver.NATSCluster(t, 3)
	info, err := create(t, connect(t, servers[0]), natsassigner.StreamConfig(bucket, 3)).Info(t.Context())
	if err != nil || info.Cluster == nil || len(info.Cluster.Leader) != len("n0") {
		t.Fatalf("stream %+v, %v; want a leader", info, err)
	}
	leader := int(info.Cluster.Leader[1] - '0')
	s := natsassigner.LeaseStore(connect(t, servers[(leader+1)%3]), bucket, "orders", durable)
	l := stores.Assign(t, s)
	limit := l.Grant().Last
	servers[leader].Kill9()
	testkit.Succeeds(t, "a renewal", func() error { return stores.Extend(t.Context(), l, limit, limit+10) })
	if row := stores.Load(t, s, l.Grant().WorkerID); row.Fence != l.Grant().Last || row.Fence < limit+10 {
		t.Errorf("row %+v, want fence %d, above %d", row, l.Grant().Last, limit)
	}
}

func TestExample(t *testing.T) {
	server, _ := serve(t, 3)
	t.Setenv("IDS_NATS", server.DSN())
	testkit.Example(t, ExampleLeaseStore)
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	server, js := serve(t, 1)
	stores.Fail(t, natsassigner.LeaseStore(nil, "a.b", "a/b", durable), "js is required", `bucket "a.b"`, `namespace "a/b"`)
	stores.Fail(t, natsassigner.LeaseStore(js, "", "orders", durable), `bucket ""`)
	stores.Fail(t, natsassigner.LeaseStore(js, "missing", "orders", durable), "bucket not found", "bucket missing of NATS at "+server.DSN()+": ")
}

// A key that was deleted with the tools of NATS leaves a marker.
func TestDeletedKeysAreCreatedAgain(t *testing.T) {
	_, js := serve(t, 1)
	s := natsassigner.LeaseStore(js, bucket, "orders", durable)
	kv, err := js.KeyValue(t.Context(), bucket)
	testkit.Must(t, err)
	for _, remove := range []func() error{
		func() error { return kv.Delete(t.Context(), "worker.orders.0000000000000000.007") },
		func() error { return kv.Purge(t.Context(), "worker.orders.0000000000000000.007") },
	} {
		stores.Create(t, s, leasestore.Row{WorkerID: 7, Version: 1}, time.Hour)
		testkit.Must(t, remove())
		row, errLoad := s.Load(t.Context(), 7)
		rows, errList := s.List(t.Context())
		if err := errors.Join(errLoad, errList); err != nil || row != (leasestore.Row{}) || len(rows) > 0 {
			t.Errorf("row %+v, rows %+v after a delete: %v", row, rows, err)
		}
	}
	stores.Create(t, s, leasestore.Row{WorkerID: 7, Version: 1}, time.Hour)
}
