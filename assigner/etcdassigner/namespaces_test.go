package etcdassigner_test

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testserver"
)

// named is a namespace of a server, with its name.
func named(t *testing.T, server *testserver.Server, name string) assigner.Namespaced {
	t.Helper()
	s, ok := etcdassigner.LeaseStore(connect(t, server.DSN()), name).(assigner.Namespaced)
	if !ok {
		t.Fatal("the store is not Namespaced")
	}
	return s
}

// sampleMeta is a meta row of its own for each name.
func sampleMeta(name string) assigner.Meta {
	return assigner.Meta{Version: 1, Namespace: "N-" + name, DatacenterID: int64(len(name)), Token: "T"}
}

func createMeta(t *testing.T, s assigner.Namespaced) {
	t.Helper()
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta(s.Namespace())); !ok || err != nil {
		t.Fatalf("create %s: %v, %v", s.Namespace(), ok, err)
	}
}

func wantNamespaces(t *testing.T, s assigner.Namespaced, names ...string) {
	t.Helper()
	want := make(map[string]assigner.Meta)
	for _, name := range names {
		want[name] = sampleMeta(name)
	}
	if got, err := s.Namespaces(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("namespaces %+v, %v; want %+v", got, err, want)
	}
}

func TestNamespacesHaveTheirMetaRows(t *testing.T) {
	server := testserver.Etcd(t)
	admin := connect(t, server.DSN())
	orders, users := named(t, server, "orders"), named(t, server, "users")
	odd := named(t, server, "meta") // like a part of keys
	if got := orders.Namespace(); got != "orders" {
		t.Errorf("namespace %q, want orders", got)
	}
	wantNamespaces(t, orders)
	create(t, users, sample()) // a row alone makes no namespace
	wantNamespaces(t, users)
	createMeta(t, orders)
	wantNamespaces(t, users, "orders")
	createMeta(t, users)
	createMeta(t, odd)
	for _, s := range []assigner.Namespaced{orders, users, odd} {
		wantNamespaces(t, s, "orders", "users", "meta")
	}
	if _, err := admin.Delete(t.Context(), "uidring/meta/users"); err != nil {
		t.Fatal(err)
	}
	wantNamespaces(t, users, "orders", "meta")
}

func TestNamespaceThatDiffersInCaseOnlyIsRefused(t *testing.T) {
	server := testserver.Etcd(t)
	orders, twin := named(t, server, "orders"), named(t, server, "Orders")
	createMeta(t, orders)
	ok, err := twin.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta("Orders"))
	if ok || err == nil {
		t.Fatalf("create Orders beside orders: %v, %v; want an error", ok, err)
	}
	if !errors.Is(err, assigner.ErrWorkerOverlap) {
		t.Errorf("%v, want ErrWorkerOverlap", err)
	}
	for _, want := range []string{`"orders"`, `"Orders"`, "letter case", "meta/orders"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("create Orders beside orders: %v; want %s", err, want)
		}
	}
	if meta, err := twin.LoadMeta(t.Context()); err != nil || meta != (assigner.Meta{}) {
		t.Errorf("meta row of Orders: %+v, %v; want none", meta, err)
	}
	wantNamespaces(t, twin, "orders")
	if ok, err := orders.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta("orders")); ok || err != nil {
		t.Errorf("create orders again: %v, %v; want false", ok, err)
	}
}

func TestOneSpellingOfANamespaceWins(t *testing.T) {
	server := testserver.Etcd(t)
	spellings := []string{"orders", "Orders", "ORDERS", "oRDERS"}
	created := make([]bool, len(spellings))
	var wg sync.WaitGroup
	for i, name := range spellings {
		s := named(t, server, name)
		wg.Go(func() { created[i], _ = s.SwapMeta(t.Context(), assigner.Meta{}, sampleMeta(name)) })
	}
	wg.Wait()
	var winners []string
	for i, ok := range created {
		if ok {
			winners = append(winners, spellings[i])
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%q were created, want one", winners)
	}
	wantNamespaces(t, named(t, server, "other"), winners...)
}
