package zkassigner_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testserver"
)

// quiet drops the log records of the client.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect opens a client of one server that ends with the test.
func connect(t *testing.T, server *testserver.Server) *zk.Conn {
	return connectOver(t, server, net.DialTimeout)
}

// connectOver names the server twice: a client of one server waits for a second before it connects
// again, and fails all calls until then.
func connectOver(t *testing.T, server *testserver.Server, hook zk.Dialer) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{server.Addr(), server.Addr()}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(hook))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// namespaces returns a func that opens empty namespaces on some servers.
func namespaces(t *testing.T, servers ...*testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	b := stores.Backend{
		Servers: servers,
		Ready:   testserver.AwaitZooKeeper,
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			conn := connectOver(t, s, func(network, addr string, timeout time.Duration) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				defer cancel()
				return dial(ctx, network, addr)
			})
			return zkassigner.LeaseStore(conn, namespace, zkassigner.Config{})
		},
	}
	return b.Namespaces()
}
