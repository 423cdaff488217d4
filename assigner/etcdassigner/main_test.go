package etcdassigner_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// namespace is used by the cases; the other names are its keys.
const (
	namespace = "orders-1.eu_west"
	metaKey   = "uidring/meta/" + namespace
	seenKey   = "uidring/seen/" + namespace
	workers   = "uidring/worker/" + namespace + "/"
)

func rowKey(workerID int64) string {
	return fmt.Sprintf("%s%016d/%03d", workers, workerID/1000, workerID%1000)
}

func TestMain(m *testing.M) {
	segmenttest.Child(func(url string) (segment.Source, error) {
		client, err := clientv3.New(config(url))
		if err != nil {
			return nil, err
		}
		return etcdassigner.SegmentSource(client), nil
	})
	os.Exit(m.Run())
}

func config(url string, opts ...grpc.DialOption) clientv3.Config {
	return clientv3.Config{Endpoints: []string{url}, Logger: quiet(), DialOptions: opts}
}

// quiet keeps the client from writing of each call that fails.
func quiet() *zap.Logger { return zap.NewNop() }

// connect opens a client that ends with the test.
func connect(t *testing.T, url string, opts ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(config(url, opts...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// fixture returns a function that opens a namespace on the members of a cluster. Each handle is
// connected to the next member. Kill kills the leader at first, and followers in turn.
func fixture(servers ...*testserver.Server) func(t *testing.T, name string) assignertest.StoreFixture {
	var handles, kills atomic.Int64
	open := func(t *testing.T, name string, opts ...grpc.DialOption) assigner.Store {
		server := servers[int(handles.Add(1))%len(servers)]
		return etcdassigner.LeaseStore(connect(t, server.DSN(), opts...), name)
	}
	return func(t *testing.T, name string) assignertest.StoreFixture {
		remove := func(t *testing.T, key string, opts ...clientv3.OpOption) {
			t.Helper()
			answer, err := connect(t, servers[0].DSN()).Delete(t.Context(), key, opts...)
			if err != nil || answer.Deleted == 0 {
				t.Fatalf("delete %s: %v, %v", key, answer, err)
			}
		}
		return assignertest.StoreFixture{
			Handle: func() assigner.Store { return open(t, name) },
			Other:  func(other string) assigner.Store { return open(t, other) },
			Through: func(w *assignertest.Wire) assigner.Store {
				dial := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return w.Dial(ctx, "tcp", addr) })
				soon := grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: time.Second}})
				return open(t, name, dial, soon)
			},
			Kill: func(t *testing.T) {
				server := servers[(leader(t, servers)+int(kills.Add(1))-1)%len(servers)]
				server.Kill9()
				server.Restart()
				testserver.AwaitEtcd(t, servers...)
			},
			Delete: func(t *testing.T, workerID int64) { remove(t, strings.Replace(rowKey(workerID), namespace, name, 1)) },
			Clear: func(t *testing.T) {
				remove(t, "uidring/worker/"+name+"/", clientv3.WithPrefix())
				remove(t, "uidring/meta/"+name)
			},
			Down: func(t *testing.T) (up func()) {
				for _, server := range servers {
					server.Kill9()
				}
				return func() {
					for _, server := range servers {
						server.Restart()
					}
					testserver.AwaitEtcd(t, servers...)
				}
			},
		}
	}
}

// leader returns the index of the member that leads.
func leader(t *testing.T, servers []*testserver.Server) int {
	t.Helper()
	for i, s := range servers {
		answer, err := connect(t, s.DSN()).Status(t.Context(), s.DSN())
		if err != nil {
			t.Fatal(err)
		}
		if answer.Leader == answer.Header.MemberId {
			return i
		}
	}
	t.Fatal("no member leads")
	return 0
}
