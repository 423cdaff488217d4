package etcdassigner_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestStatusKnowsTheClusterByItsID(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	stores.ItsIdentityStays(t, s, server, "^cluster [0-9a-f]{1,16}$")

	// A snapshot is restored in another cluster.
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		backup, err := client.Get(t.Context(), "uidring/", clientv3.WithPrefix())
		if err != nil || len(backup.Kvs) != 3 {
			t.Fatalf("%d keys, want the meta row, a row and the time: %v", len(backup.Kvs), err)
		}
		restored := connect(t, testserver.Etcd(t).DSN())
		for _, kv := range backup.Kvs {
			if _, err := restored.Put(t.Context(), string(kv.Key), string(kv.Value)); err != nil {
				t.Fatal(err)
			}
		}
		return etcdassigner.LeaseStore(restored, namespace)
	})
}
