package zkassigner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Handles are on the leader and on the followers.
func TestConformance(t *testing.T) {
	open := namespaces(t, testserver.ZooKeeperEnsemble(t, 3)...)
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

func TestExample(t *testing.T) {
	t.Setenv("IDS_ZK", testserver.ZooKeeper(t).Addr())
	testkit.Example(t, ExampleLeaseStore)
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	conn := connect(t, testserver.ZooKeeper(t))
	stores.Fail(t, zkassigner.LeaseStore(nil, "a/b", zkassigner.Config{Root: "ids/"}), "conn is required", `namespace "a/b"`, `Root "ids/"`)
	for _, root := range []string{"/", "/a//b", "/a/../b"} {
		stores.Fail(t, zkassigner.LeaseStore(conn, "orders", zkassigner.Config{Root: root}), fmt.Sprintf("Root %q", root))
	}
	stores.Fail(t, zkassigner.LeaseStore(conn, "..", zkassigner.Config{}), `namespace ".."`)
}

func TestLeaseStoreWritesPersistentZnodesWithTheACL(t *testing.T) {
	server := testserver.ZooKeeper(t)
	mine, other := connect(t, server), connect(t, server)
	if err := mine.AddAuth("digest", []byte("ids:secret")); err != nil {
		t.Fatal(err)
	}
	cfg := zkassigner.Config{Root: "/ids", ACL: zk.AuthACL(zk.PermAll)}
	s := zkassigner.LeaseStore(mine, "orders", cfg)
	stores.Assign(t, s)
	_, err := zkassigner.LeaseStore(other, "orders", cfg).Load(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "not authenticated") || !strings.Contains(err.Error(), "ZooKeeper at "+server.Addr()) {
		t.Errorf("Load by another user: %v, want an error", err)
	}
	for _, name := range []string{"/ids", "/ids/clock", "/ids/meta/orders", "/ids/worker/orders/0000000000000000/000"} {
		acl, stat, err := mine.GetACL(name)
		if err != nil || len(acl) != 1 || acl[0].Scheme != "digest" || stat.EphemeralOwner != 0 {
			t.Errorf("%s: %+v, %+v, %v; want a persistent znode of one user", name, acl, stat, err)
		}
	}
}
