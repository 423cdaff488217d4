package zkassigner_test

import (
	"errors"
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestStatusKnowsTheStoreByTheBirthOfItsClock(t *testing.T) {
	server := testserver.ZooKeeper(t)
	conn := connect(t, server)
	s := zkassigner.LeaseStore(conn, "orders", zkassigner.Config{})
	identity := stores.ItsIdentityStays(t, s, server, "^/uidring/clock created in")
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		copyTree(t, conn, "/uidring", "/copy")
		return zkassigner.LeaseStore(conn, "orders", zkassigner.Config{Root: "/copy"})
	})

	// The documented way to have a restore noticed.
	if err := conn.Delete("/uidring/clock", -1); err != nil {
		t.Fatal(err)
	}
	s = zkassigner.LeaseStore(conn, "orders", zkassigner.Config{})
	if got := stores.Status(t, s); got.Identity == identity {
		t.Errorf("identity %q, although the clock was deleted", got.Identity)
	}
}

func copyTree(t *testing.T, conn *zk.Conn, from, to string) {
	t.Helper()
	value, _, errGet := conn.Get(from)
	names, _, errList := conn.Children(from)
	_, errCreate := conn.Create(to, value, 0, zk.WorldACL(zk.PermAll))
	if err := errors.Join(errGet, errList, errCreate); err != nil {
		t.Fatalf("copy %s: %v", from, err)
	}
	for _, name := range names {
		copyTree(t, conn, path.Join(from, name), path.Join(to, name))
	}
}
