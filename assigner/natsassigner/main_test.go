package natsassigner_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

const bucket = "uidring"

var durable = natsassigner.Config{SyncAlways: true}

func dial(url string, opts ...nats.Option) (jetstream.JetStream, *nats.Conn, error) {
	opts = append(opts, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.IgnoreDiscoveredServers(), nats.RetryOnFailedConnect(true), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	conn, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	return js, conn, err
}

// connect opens a client of one server that ends with the test.
func connect(t *testing.T, server *testserver.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	js, conn, err := dial(server.DSN(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return js
}

// A hook opens the connections of a client.
type hook func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial implements nats.CustomDialer.
func (h hook) Dial(network, addr string) (net.Conn, error) {
	return h(context.Background(), network, addr)
}

// create makes the stream of the bucket, and waits for a leader.
func create(t *testing.T, js jetstream.JetStream, cfg jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	var s jetstream.Stream
	eventually(t, func() (err error) {
		s, err = js.CreateOrUpdateStream(t.Context(), cfg)
		return err
	})
	return s
}

// eventually repeats a call until it succeeds, as it does once the servers have elected a leader.
func eventually(t *testing.T, call func() error) {
	t.Helper()
	poll.Succeeds(t, "an answer of NATS", call)
}

// fixture returns a function that opens empty namespaces on some servers. Each handle is connected
// to the next server by a hook.
func fixture(t *testing.T, dial hook, servers ...*testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	admin := connect(t, servers[0])
	s := create(t, admin, natsassigner.StreamConfig(bucket, len(servers)))
	var names, handles, kills atomic.Int64
	open := func(t *testing.T, name string, h hook) assigner.Store {
		server := servers[int(handles.Add(1))%len(servers)]
		s := natsassigner.LeaseStore(connect(t, server, nats.SetCustomDialer(h)), bucket, name, durable)
		if named, ok := s.(assigner.Namespaced); ok && len(servers) == 1 {
			return replicated{named}
		}
		return s
	}
	up := func(t *testing.T) {
		for _, server := range servers {
			server.Restart()
		}
		eventually(t, func() error {
			_, err := admin.Stream(t.Context(), "KV_"+bucket)
			return err
		})
	}
	purge := func(t *testing.T, key string) {
		t.Helper()
		eventually(t, func() error { return s.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+bucket+"."+key)) })
	}
	return func(t *testing.T) assignertest.StoreFixture {
		name := fmt.Sprint("namespace.", names.Add(1))
		token := strings.ReplaceAll(name, ".", "=")
		return assignertest.StoreFixture{
			Handle: func() assigner.Store { return open(t, name, dial) },
			Other:  func(name string) assigner.Store { return open(t, name, dial) },
			Delete: func(t *testing.T, workerID int64) {
				purge(t, fmt.Sprintf("worker.%s.%016d.%03d", token, workerID/1000, workerID%1000))
			},
			Clear: func(t *testing.T) {
				purge(t, "worker."+token+".>")
				purge(t, "meta."+token)
			},
			Down: func(t *testing.T) func() {
				for _, server := range servers {
					server.Kill9()
				}
				return func() { up(t) }
			},
			Through: func(w *assignertest.Wire) assigner.Store { return open(t, name, w.Dial) },
			Kill: func(t *testing.T) {
				servers[int(kills.Add(1))%len(servers)].Kill9()
				up(t)
			},
		}
	}
}

// replicated takes a single server for a cluster, whose elections take ten seconds.
type replicated struct{ assigner.Namespaced }

func (s replicated) Status(ctx context.Context) (assigner.Status, error) {
	status, err := s.Namespaced.Status(ctx)
	status.Lossy = false
	return status, err
}

// serve starts a server with an empty bucket.
func serve(t *testing.T) (*testserver.Server, jetstream.JetStream) {
	t.Helper()
	server := testserver.NATS(t)
	js := connect(t, server)
	create(t, js, natsassigner.StreamConfig(bucket, 1))
	return server, js
}

// serveCluster starts three servers with an empty bucket, and returns one of them. With a single
// server the store is lossy.
func serveCluster(t *testing.T) (*testserver.Server, jetstream.JetStream) {
	t.Helper()
	server := testserver.NATSCluster(t, 3)[0]
	js := connect(t, server)
	create(t, js, natsassigner.StreamConfig(bucket, 3))
	return server, js
}
