package zkassigner_test

import (
	"context"
	"errors"
	"os"
	"path"
	"testing"
	"time"

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
	remove(t, conn, "/uidring/clock")
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

// The server rejects sessions that have seen later transactions, so that a restored server serves
// new processes only.
func TestStatusOfAServerThatWasPutBackNeedsANewSession(t *testing.T) {
	server := testserver.ZooKeeper(t)
	s := zkassigner.LeaseStore(connect(t, server), "orders", zkassigner.Config{})
	identity := stores.Status(t, s).Identity
	server.Stop()
	data, backup := server.Dir()+"/data", t.TempDir()+"/backup"
	if err := os.CopyFS(backup, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	for range 3 {
		stores.Status(t, s)
	}
	server.Stop()
	if err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup))); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if got, err := s.Status(ctx); err == nil {
		t.Errorf("status %+v in a session that has seen more, want an error", got)
	}
	s = zkassigner.LeaseStore(connect(t, server), "orders", zkassigner.Config{})
	if got := stores.Status(t, s); got.Identity != identity {
		t.Errorf("identity %q after the folder was put back, was %q", got.Identity, identity)
	}
}
