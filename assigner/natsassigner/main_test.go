package natsassigner_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const bucket = "uidring"

var durable = natsassigner.Config{SyncAlways: true}

// connect opens a client of one server that ends with the test.
func connect(t *testing.T, server *testserver.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	opts = append(opts, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.IgnoreDiscoveredServers(), nats.RetryOnFailedConnect(true), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	conn, err := nats.Connect(server.DSN(), opts...)
	testkit.Must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	testkit.Must(t, err)
	return js
}

// A hook opens the connections of a client.
type hook stores.Dial

// Dial implements nats.CustomDialer.
func (h hook) Dial(network, addr string) (net.Conn, error) {
	return h(context.Background(), network, addr)
}

// create makes the stream of the bucket, and waits for a leader.
func create(t *testing.T, js jetstream.JetStream, cfg jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	var s jetstream.Stream
	testkit.Succeeds(t, "a leader", func() (err error) {
		s, err = js.CreateOrUpdateStream(t.Context(), cfg)
		return err
	})
	return s
}

// namespaces returns a func that opens empty namespaces on some servers. dial opens the connections
// of handles; nil: directly.
func namespaces(t *testing.T, dial stores.Dial, servers ...*testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	admin := connect(t, servers[0])
	create(t, admin, natsassigner.StreamConfig(bucket, len(servers)))
	b := stores.Backend{
		Servers: servers,
		Dial:    dial,
		Ready: func(t testing.TB, _ ...*testserver.Server) {
			testkit.Succeeds(t, "the stream", func() error {
				_, err := admin.Stream(t.Context(), "KV_"+bucket)
				return err
			})
		},
		Open: func(t *testing.T, server *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			s := natsassigner.LeaseStore(connect(t, server, nats.SetCustomDialer(hook(dial))), bucket, namespace, durable)
			if len(servers) == 1 {
				return replicated{s}
			}
			return s
		},
	}
	return b.Namespaces()
}

// replicated takes a single server for a cluster, whose elections take ten seconds.
type replicated struct{ leasestore.Store }

func (s replicated) Status(ctx context.Context) (leasestore.Status, error) {
	status, err := s.Store.Status(ctx)
	status.Lossy = false
	return status, err
}

// serve starts servers with an empty bucket, and returns one of them. With fewer than three servers
// the store is lossy.
func serve(t *testing.T, servers int) (*testserver.Server, jetstream.JetStream) {
	t.Helper()
	var server *testserver.Server
	if servers == 1 {
		server = testserver.NATS(t)
	} else {
		server = testserver.NATSCluster(t, servers)[0]
	}
	js := connect(t, server)
	create(t, js, natsassigner.StreamConfig(bucket, servers))
	return server, js
}
