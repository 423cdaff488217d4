package etcdassigner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// sampleMeta is a meta row of its own for each name.
func sampleMeta(name string) assigner.Meta {
	return assigner.Meta{Version: 1, Namespace: "N-" + name, DatacenterID: int64(len(name)), Token: "T"}
}

func TestNamespaceThatDiffersInCaseOnlyIsRefusedWithItsKey(t *testing.T) {
	client := connect(t, testserver.Etcd(t).DSN())
	orders, twin := etcdassigner.LeaseStore(client, "orders"), etcdassigner.LeaseStore(client, "Orders")
	if ok, err := orders.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta("orders")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	ok, err := twin.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta("Orders"))
	if ok || !errors.Is(err, assigner.ErrWorkerOverlap) {
		t.Fatalf("create Orders beside orders: %v, %v; want ErrWorkerOverlap", ok, err)
	}
	for _, want := range []string{`"orders"`, `"Orders"`, "letter case", "meta/orders"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("create Orders beside orders: %v; want %s", err, want)
		}
	}
}
