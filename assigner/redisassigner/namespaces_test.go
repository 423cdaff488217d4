package redisassigner_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// named is a namespace of a server, with its name.
func named(t *testing.T, server *testserver.Server, name string) assigner.Namespaced {
	t.Helper()
	s, ok := redisassigner.LeaseStore(connect(t, options(server.Addr())), name).(assigner.Namespaced)
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

// The key that has all names may be lost.
func TestNamespaceKnowsItself(t *testing.T) {
	server := testserver.Redis(t)
	orders, users := named(t, server, "orders"), named(t, server, "users")
	createMeta(t, orders)
	createMeta(t, users)
	if err := connect(t, options(server.Addr())).Del(t.Context(), names).Err(); err != nil {
		t.Fatal(err)
	}
	wantNamespaces(t, orders, "orders")
}

func TestNamespaceThatDiffersInCaseOnlyIsRefusedWithItsKey(t *testing.T) {
	server := testserver.Redis(t)
	createMeta(t, named(t, server, "orders"))
	ok, err := named(t, server, "Orders").SwapMeta(t.Context(), assigner.Meta{}, sampleMeta("Orders"))
	if ok || !errors.Is(err, assigner.ErrWorkerOverlap) {
		t.Fatalf("create Orders beside orders: %v, %v; want ErrWorkerOverlap", ok, err)
	}
	for _, want := range []string{`"orders"`, `"Orders"`, "letter case", "redisassigner: ", names} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("create Orders beside orders: %v; want %s", err, want)
		}
	}
}
