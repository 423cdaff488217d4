package natsassigner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/scripts"
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

// backend returns the store on some servers.
func backend(t *testing.T, servers ...*testserver.Server) *stores.Backend {
	admin := connect(t, servers[0])
	create(t, admin, natsassigner.StreamConfig(bucket, len(servers)))
	return &stores.Backend{
		Servers: servers,
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

func TestFaultsOfASingleServer(t *testing.T) {
	t.Parallel()
	assignertest.RunFaults(t, backend(t, testserver.NATS(t)).Namespace)
}

// Handles are on the leader and on the followers. An outage cuts their connections, since the
// servers would take ten seconds to elect another leader.
func TestConformance(t *testing.T) {
	t.Parallel()
	wire := new(faultconn.Wire)
	b := backend(t, testserver.NATSCluster(t, 3)...)
	open := b.Open
	b.Open = func(t *testing.T, s *testserver.Server, _ stores.Dial, namespace string) leasestore.Store {
		return open(t, s, wire.Dial, namespace)
	}
	assignertest.RunStore(t, func(t *testing.T) assignertest.StoreFixture {
		f := b.Namespace(t)
		f.Down = func(*testing.T) (up func()) { return wire.Down() }
		return f
	})
}

func TestLeaderThatDiesForgetsNoFence(t *testing.T) {
	t.Parallel()
	servers := testserver.NATSCluster(t, 3)
	info, err := create(t, connect(t, servers[0]), natsassigner.StreamConfig(bucket, 3)).Info(t.Context())
	if err != nil || info.Cluster == nil || len(info.Cluster.Leader) != len("n0") {
		t.Fatalf("stream %+v, %v; want a leader", info, err)
	}
	leader := int(info.Cluster.Leader[1] - '0')
	s := natsassigner.LeaseStore(connect(t, servers[(leader+1)%3]), bucket, "orders", durable)
	l := stores.Assign(t, s)
	limit := l.Grant().Last
	servers[leader].Kill9()
	testkit.Succeeds(t, "a renewal", func() error { return stores.Extend(t.Context(), l, limit, limit+10) })
	if row := stores.Load(t, s, l.Grant().WorkerID); row.Fence != l.Grant().Last || row.Fence < limit+10 {
		t.Errorf("row %+v, want fence %d, above %d", row, l.Grant().Last, limit)
	}
}

func TestExample(t *testing.T) {
	server, _ := serve(t, 3)
	t.Setenv("IDS_NATS", server.DSN())
	testkit.Example(t, ExampleLeaseStore)
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	server, js := serve(t, 1)
	stores.Fail(t, natsassigner.LeaseStore(nil, "a.b", "a/b", durable), "js is required", `bucket "a.b"`, `namespace "a/b"`)
	stores.Fail(t, natsassigner.LeaseStore(js, "", "orders", durable), `bucket ""`)
	stores.Fail(t, natsassigner.LeaseStore(js, "missing", "orders", durable), "bucket not found", "bucket missing of NATS at "+server.DSN()+": ")
	js.Conn().Close()
	stores.Fail(t, natsassigner.LeaseStore(js, bucket, "orders", durable), "connection closed; ", "connect with nats.MaxReconnects(-1) and nats.Ignore")
}

// A key that was deleted with the tools of NATS leaves a marker.
func TestDeletedKeysAreCreatedAgain(t *testing.T) {
	_, js := serve(t, 1)
	s := natsassigner.LeaseStore(js, bucket, "orders", durable)
	kv, err := js.KeyValue(t.Context(), bucket)
	testkit.Must(t, err)
	stores.Create(t, s, leasestore.Row{WorkerID: 7, Version: 1}, time.Hour)
	testkit.Must(t, kv.Delete(t.Context(), "worker.orders.0000000000000000.007"))
	row, errLoad := s.Load(t.Context(), 7)
	rows, errList := s.List(t.Context())
	if err := errors.Join(errLoad, errList); err != nil || row != (leasestore.Row{}) || len(rows) > 0 {
		t.Errorf("row %+v, rows %+v after a delete: %v", row, rows, err)
	}
	stores.Create(t, s, leasestore.Row{WorkerID: 7, Version: 1}, time.Hour)
	stream, err := js.Stream(t.Context(), "KV_"+bucket)
	testkit.Must(t, err)
	stores.WantError(t, stream.Purge(t.Context()), nil, "purge not permitted")
	stores.WantError(t, kv.Purge(t.Context(), "meta.orders"), nil, "rollup not permitted")
}

// The documentation of the package has these permissions. The server does not answer a request
// that lacks one.
func TestDocumentedPermissionsSuffice(t *testing.T) {
	const all = `publish: [ "$JS.API.STREAM.INFO.KV_uidring", "$JS.API.STREAM.MSG.GET.KV_uidring", "$KV.uidring.>" ], subscribe: [ "_INBOX.>" ]`
	needed := []string{"STREAM.INFO", "MSG.GET", "$KV", "_INBOX"}
	users := []string{`{ user: admin, password: "x" }`}
	for _, name := range append(needed, "ids") { // ids lacks none
		users = append(users, fmt.Sprintf(`{ user: %q, password: "x", permissions: { %s } }`, name, strings.Replace(all, name, "none", 1)))
	}
	conf := t.TempDir() + "/conf"
	text := fmt.Appendf(nil, "jetstream { store_dir: %q, sync_interval: always }\nauthorization { users: [ %s ] }", t.TempDir(), strings.Join(users, ", "))
	testkit.Must(t, os.WriteFile(conf, text, 0o600))
	server := testserver.NATS(t, "-c", conf)
	create(t, connect(t, server, nats.UserInfo("admin", "x")), natsassigner.StreamConfig(bucket, 1))
	js := connect(t, server, nats.UserInfo("ids", "x"))
	s := replicated{natsassigner.LeaseStore(js, bucket, "orders", durable)}
	stores.RenewalTakes(t, s, 4, func() int64 { return int64(js.Conn().Stats().OutMsgs) }) // as documented
	for _, name := range needed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := natsassigner.LeaseStore(connect(t, server, nats.UserInfo(name, "x")), bucket, "another", durable)
			_, err := s.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{})
			stores.Waits(t, false, err, nil, name, "Permissions Violation", "needs these permissions: publish to $JS")
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := s.Load(ended, 7); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "Violation") {
				t.Errorf("a call without an answer, after another was refused: %v", err)
			}
		})
	}
}

// TestScripts runs testdata/faults.txt. Each line behind > has changes of the stream of a bucket on
// one server, and below it the script has the status of the store and the error of a first write.
func TestScripts(t *testing.T) {
	_, js := serve(t, 1)
	scripts.Each(t, func(t *testing.T, x *testkit.Script, changes testkit.Words) {
		cfg := natsassigner.StreamConfig("b", 1)
		testkit.Must(t, json.Unmarshal([]byte(strings.Join(changes, " ")), &cfg))
		_, err := js.CreateStream(t.Context(), cfg)
		testkit.Must(t, err)
		s := natsassigner.LeaseStore(js, "b", "orders", durable)
		got := stores.Status(t, s)
		x.Print("  lossy: %v, faults: %q", got.Lossy, got.Faults)
		if len(got.Faults) == 0 {
			if _, err := s.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{}); err != nil {
				_, text, _ := strings.Cut(err.Error(), ": cannot ") // after the port
				x.Print("  %s", text)
			}
		}
		testkit.Must(t, js.DeleteStream(t.Context(), cfg.Name))
	})
}

// A handle that was opened before must not read from a replica.
func TestRenewNoticesDirectGets(t *testing.T) {
	_, js := serve(t, 3)
	s := natsassigner.LeaseStore(js, bucket, "orders", durable)
	l := stores.Assign(t, s)
	cfg := natsassigner.StreamConfig(bucket, 3)
	for _, direct := range []bool{true, false} {
		cfg.AllowDirect = direct
		_, err := js.UpdateStream(t.Context(), cfg)
		testkit.Must(t, err)
		limit := l.Grant().Last
		if err := stores.Extend(t.Context(), l, limit, limit+100); errors.Is(err, leasestore.ErrNotDurable) != direct || (err != nil) != direct {
			t.Errorf("Renew with allow_direct %v: %v", direct, err)
		}
	}
	unknown := stores.Status(t, natsassigner.LeaseStore(js, bucket, "orders", natsassigner.Config{}))
	if text := strings.Join(unknown.Faults, "; "); !unknown.Lossy || !strings.Contains(text, "sync_interval: always") {
		t.Errorf("status without SyncAlways: %+v, want a lossy store with the fault", unknown)
	}
}

func TestStatusKnowsTheBucketByTheBirthOfItsStream(t *testing.T) {
	server, js := serve(t, 3)
	s := natsassigner.LeaseStore(js, bucket, "orders", durable)
	stores.ItsIdentityStays(t, s, server, "^stream KV_uidring created 20")
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		from, err := js.KeyValue(t.Context(), bucket)
		testkit.Must(t, err)
		create(t, js, natsassigner.StreamConfig("copy", 3))
		to, err := js.KeyValue(t.Context(), "copy")
		testkit.Must(t, err)
		for _, name := range []string{"meta.orders", "worker.orders.0000000000000000.000"} {
			entry, err := from.Get(t.Context(), name)
			testkit.Must(t, err)
			_, err = to.Put(t.Context(), name, entry.Value())
			testkit.Must(t, err)
		}
		return natsassigner.LeaseStore(js, "copy", "orders", durable)
	})
}
