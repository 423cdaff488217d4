package etcdassigner_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
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

func TestMain(m *testing.M) {
	segmenttest.Child(func(url string) (segment.Source, error) {
		client, err := clientv3.New(config(url))
		if err != nil {
			return nil, err
		}
		return etcdassigner.SegmentSource(client, etcdassigner.SegmentConfig{}), nil
	})
	os.Exit(m.Run())
}

func config(url string, opts ...grpc.DialOption) clientv3.Config {
	return clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop(), DialOptions: opts}
}

// connect opens a client that ends with the test.
func connect(t *testing.T, url string, opts ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(config(url, opts...))
	return testkit.Close(t, client, err)
}

// namespaces returns a func that opens empty namespaces on the members of a cluster.
func namespaces(t *testing.T, servers ...*testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	b := stores.Backend{
		Servers: servers,
		Ready:   testserver.AwaitEtcd,
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			hook := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) })
			soon := grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: time.Second}})
			return etcdassigner.LeaseStore(connect(t, s.DSN(), hook, soon), namespace, etcdassigner.Config{})
		},
	}
	return b.Namespaces()
}

// Handles are on the leader and on the followers, and each member is killed.
func TestConformance(t *testing.T) {
	t.Parallel()
	open := namespaces(t, testserver.EtcdCluster(t, 3)...)
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

func TestExample(t *testing.T) {
	t.Setenv("IDS_ETCD", testserver.Etcd(t).DSN())
	testkit.Example(t, ExampleLeaseStore)
}

// A page has 1,000 rows.
func TestListReturnsTheRowsOfAllFoldersAndPages(t *testing.T) {
	client := connect(t, testserver.Etcd(t).DSN())
	stores.ListHasAllFolders(t, etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{}), 1100, "", etcdassigner.LeaseStore(client, namespace+"0", etcdassigner.Config{}))
}

func TestSegments(t *testing.T) {
	s := testserver.Etcd(t)
	f := segmenttest.Fixture{Open: func(t *testing.T) segment.Source {
		return etcdassigner.SegmentSource(connect(t, s.DSN()), etcdassigner.SegmentConfig{})
	}}
	t.Run("Suite", func(t *testing.T) { segmenttest.Run(t, f) })
	t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, s.DSN(), s.Kill9, func() { s.Restart() }) })
	if r, err := etcdassigner.SegmentSource(nil, etcdassigner.SegmentConfig{}).Advance(t.Context(), "a", 1); err == nil {
		t.Errorf("without a client: range %v", r)
	}
}
