package zkassigner_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// quiet drops the log records of the client.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dial names the server twice: a client of one server waits for a second before it connects again,
// and fails all calls until then.
func dial(addr string, hook zk.Dialer) (*zk.Conn, error) {
	conn, _, err := zk.Connect([]string{addr, addr}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(hook))
	return conn, err
}

// connect opens a client of one server that ends with the test.
func connect(t *testing.T, server *testserver.Server) *zk.Conn {
	return connectOver(t, server, net.DialTimeout)
}

func connectOver(t *testing.T, server *testserver.Server, hook zk.Dialer) *zk.Conn {
	t.Helper()
	conn, err := dial(server.Addr(), hook)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// remove deletes a znode and all below it, and fails the test if there is none.
func remove(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	names, _, err := conn.Children(path)
	if err != nil {
		t.Fatalf("children of %s: %v", path, err)
	}
	for _, name := range names {
		remove(t, conn, path+"/"+name)
	}
	if err := conn.Delete(path, -1); err != nil {
		t.Fatalf("delete %s: %v", path, err)
	}
}

// fixture returns a function that opens empty namespaces on some servers. Each handle is connected
// to the next server.
func fixture(servers ...*testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	var names, handles, kills atomic.Int64
	return func(t *testing.T) assignertest.StoreFixture {
		name := fmt.Sprint("namespace.", names.Add(1))
		open := func(name string, hook zk.Dialer) assigner.Store {
			conn := connectOver(t, servers[int(handles.Add(1))%len(servers)], hook)
			return zkassigner.LeaseStore(conn, name, zkassigner.Config{})
		}
		return assignertest.StoreFixture{
			Handle: func() assigner.Store { return open(name, net.DialTimeout) },
			Other:  func(name string) assigner.Store { return open(name, net.DialTimeout) },
			Delete: func(t *testing.T, workerID int64) {
				remove(t, connect(t, servers[0]), fmt.Sprintf("/uidring/worker/%s/%016d/%03d", name, workerID/1000, workerID%1000))
			},
			Clear: func(t *testing.T) {
				remove(t, connect(t, servers[0]), "/uidring/worker/"+name)
				remove(t, connect(t, servers[0]), "/uidring/meta/"+name)
			},
			Down: func(t *testing.T) (up func()) {
				for _, server := range servers {
					server.Kill9()
				}
				return func() {
					for _, server := range servers {
						server.Restart()
					}
					testserver.AwaitZooKeeper(t, servers...)
				}
			},
			Through: func(w *assignertest.Wire) assigner.Store {
				return open(name, func(network, addr string, timeout time.Duration) (net.Conn, error) {
					ctx, cancel := context.WithTimeout(context.Background(), timeout)
					defer cancel()
					return w.Dial(ctx, network, addr)
				})
			},
			Kill: func(t *testing.T) {
				server := servers[int(kills.Add(1))%len(servers)]
				server.Kill9()
				server.Restart()
				testserver.AwaitZooKeeper(t, servers...)
			},
		}
	}
}
