package zkassigner_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// quiet drops the log records of the client.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect opens a client of one server that ends with the test.
func connect(t *testing.T, server *testserver.Server) *zk.Conn {
	return connectOver(t, server, net.DialTimeout)
}

// name is the name of the server, which the client does not resolve.
const name = "zk-0.invalid:2181"

// connectOver names the server twice: a client of one server waits for a second after it could not
// connect, and fails all calls until then.
func connectOver(t *testing.T, server *testserver.Server, hook zk.Dialer) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{name, name}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithHostProvider(zkassigner.HostProvider()),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			if address != name {
				return nil, fmt.Errorf("address %q, want %q", address, name)
			}
			return hook(network, server.Addr(), timeout)
		}))
	testkit.Must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// Handles are on the leader and on the followers.
func TestConformance(t *testing.T) {
	b := stores.Backend{
		Servers: testserver.ZooKeeperEnsemble(t, 3),
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			conn := connectOver(t, s, func(network, addr string, timeout time.Duration) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				defer cancel()
				return dial(ctx, network, addr)
			})
			return zkassigner.LeaseStore(conn, namespace, zkassigner.Config{})
		},
	}
	assignertest.RunStore(t, b.Namespace)
	assignertest.RunFaults(t, b.Namespace)
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
	testkit.Must(t, mine.AddAuth("digest", []byte("ids:secret")))
	cfg := zkassigner.Config{Root: "/ids", ACL: zk.AuthACL(zk.PermAll)}
	s := zkassigner.LeaseStore(mine, "orders", cfg)
	stores.Assign(t, s)
	_, err := zkassigner.LeaseStore(other, "orders", cfg).Load(t.Context(), 0)
	stores.WantError(t, err, nil, "not authenticated", "ZooKeeper at "+name)
	for _, name := range []string{"/ids", "/ids/clock", "/ids/meta/orders", "/ids/worker/orders/0000000000000000/000"} {
		acl, stat, err := mine.GetACL(name)
		if err != nil || len(acl) != 1 || acl[0].Scheme != "digest" || stat.EphemeralOwner != 0 {
			t.Errorf("%s: %+v, %+v, %v; want a persistent znode of one user", name, acl, stat, err)
		}
	}
}

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
	testkit.Must(t, conn.Delete("/uidring/clock", -1))
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
