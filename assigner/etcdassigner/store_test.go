package etcdassigner_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/uidring/uidring/assigner"
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

// Handles are on the leader and on the followers, and each member is killed.
func TestConformance(t *testing.T) {
	t.Parallel()
	b := stores.Backend{
		Servers: testserver.EtcdCluster(t, 3),
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			hook := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) })
			soon := grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: time.Second}})
			return etcdassigner.LeaseStore(connect(t, s.DSN(), hook, soon), namespace, etcdassigner.Config{})
		},
	}
	assignertest.RunStore(t, b.Namespace)
	assignertest.RunFaults(t, b.Namespace)
}

func TestExample(t *testing.T) {
	t.Setenv("IDS_ETCD", testserver.Etcd(t).DSN())
	testkit.Example(t, ExampleLeaseStore)
}

// A page has 1,000 rows.
func TestListReturnsTheRowsOfAllPages(t *testing.T) {
	client := connect(t, testserver.Etcd(t).DSN())
	stores.ListHasAllPages(t, etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{}), 1100, "")
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

// A member that was added and does not run makes the other one a minority.
func TestLeaseStoreWithoutAMajorityIsAnError(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{})
	stores.Create(t, s, stores.Sample(), time.Hour)
	_, err := client.MemberAdd(t.Context(), []string{"http://127.0.0.1:1"})
	testkit.Must(t, err)
	if answer, err := client.Get(t.Context(), workers+"0000000000000004/007", clientv3.WithSerializable()); err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("the member by itself: %v, %v", answer, err)
	}
	for i, err := range stores.EveryCall(t.Context(), t, s, 200*time.Millisecond) {
		if err == nil {
			t.Errorf("call %d succeeded without a majority", i)
		}
	}
}

func TestLeaseStoreSaysWhatIsWrong(t *testing.T) {
	server := testserver.Etcd(t)
	admin := connect(t, server.DSN())
	for _, user := range []string{"root", "ids"} {
		_, err1 := admin.UserAdd(t.Context(), user, "hunter2")
		_, err2 := admin.RoleAdd(t.Context(), user)
		_, err3 := admin.UserGrantRole(t.Context(), user, user)
		testkit.Must(t, errors.Join(err1, err2, err3))
	}
	const write = clientv3.PermissionType(clientv3.PermReadWrite)
	for key, kind := range map[string]clientv3.PermissionType{"uidring/meta/": clientv3.PermissionType(clientv3.PermRead), metaKey: write, seenKey: write, workers: write} {
		end := ""
		if strings.HasSuffix(key, "/") {
			end = clientv3.GetPrefixRangeEnd(key)
		}
		_, err := admin.RoleGrantPermission(t.Context(), "ids", key, end, kind)
		testkit.Must(t, err)
	}
	cfg := config(server.DSN())
	login := func(namespace string) leasestore.Store {
		client, err := clientv3.New(cfg)
		return etcdassigner.LeaseStore(testkit.Close(t, client, err), namespace, etcdassigner.Config{})
	}
	about := "kvassigner: etcd at " + server.DSN() + ": "
	cfg.Username, cfg.Password = "ids", "hunter2"
	stores.Status(t, login(namespace)) // the server asks for no password yet
	_, err := admin.AuthEnable(t.Context())
	testkit.Must(t, err)
	s := login(namespace)
	if _, err := s.Status(t.Context()); err == nil {
		stores.Create(t, s, stores.Sample(), time.Hour) // or the server finds the client's token in its log
		server.Stop()
		server.Restart()
		stores.Status(t, s)
	} else { // etcd 3.4
		stores.Fail(t, s, about, "allowed: etcd 3.5 or later")
	}
	token, err := admin.Authenticate(t.Context(), cfg.Username, cfg.Password)
	testkit.Must(t, err)
	cfg.Username, cfg.Password, cfg.Token = "", "", token.Token
	if err := errors.Join(stores.EveryCall(t.Context(), t, login(namespace), time.Minute)...); err != nil {
		t.Errorf("with the permission that the documentation names: %v", err)
	}
	_, err = login("another").Load(t.Context(), 7)
	stores.WantError(t, err, nil, about, "permission denied")
	stores.Fail(t, etcdassigner.LeaseStore(admin, namespace, etcdassigner.Config{}), about, "user name is empty")
	stores.Fail(t, etcdassigner.LeaseStore(nil, "a/b", etcdassigner.Config{}), "client is required", `"a/b"`)
	busy := grpc.WithChainUnaryInterceptor(func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
		return rpctypes.ErrGRPCRequestTooManyRequests
	})
	_, err = etcdassigner.LeaseStore(connect(t, server.DSN(), busy), "a", etcdassigner.Config{}).Status(t.Context())
	stores.Waits(t, true, err, nil, "too many requests")
	full := etcdassigner.LeaseStore(connect(t, testserver.Etcd(t, "--quota-backend-bytes=1").DSN()), "a", etcdassigner.Config{})
	_, err = full.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{})
	stores.Waits(t, true, err, nil, "database space exceeded", "etcdctl alarm disarm")
}

func TestStatusKnowsTheClusterByItsID(t *testing.T) {
	server := testserver.Etcd(t)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{})
	stores.ItsIdentityStays(t, s, server, "^cluster [0-9a-f]{1,16}$")

	// A snapshot is restored in another cluster.
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		backup, err := client.Get(t.Context(), "uidring/", clientv3.WithPrefix())
		if err != nil || len(backup.Kvs) != 3 {
			t.Fatalf("%d keys, want the meta row, a row and the time: %v", len(backup.Kvs), err)
		}
		restored := connect(t, testserver.Etcd(t).DSN())
		for _, kv := range backup.Kvs {
			_, err = restored.Put(t.Context(), string(kv.Key), string(kv.Value))
			testkit.Must(t, err)
		}
		return etcdassigner.LeaseStore(restored, namespace, etcdassigner.Config{})
	})
}

func TestEndpointsOfTwoClustersAreAnError(t *testing.T) {
	cfg := config(testserver.Etcd(t).DSN())
	cfg.Endpoints = append(cfg.Endpoints, testserver.Etcd(t).DSN())
	client, err := clientv3.New(cfg)
	s := etcdassigner.SegmentSource(testkit.Close(t, client, err), etcdassigner.SegmentConfig{})
	testkit.Until(t, "error", func() bool { // once the client has connected to both
		_, err := s.Advance(t.Context(), "a", 1)
		return err != nil && strings.Contains(err.Error(), "allowed: endpoints of a single cluster")
	})
}

// A restore with the token and the addresses of the old cluster keeps its ID: only Recover keeps
// the next holder above the claim that the snapshot lacks.
func TestRecoverAfterARestoreOfASnapshotWithTheSameClusterID(t *testing.T) {
	etcdctl := testserver.Program(t, "etcdctl", "etcd-client")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(etcdctl, args...)
		cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	data := t.TempDir() + "/data"
	server := testserver.Etcd(t, "--data-dir", data)
	client := connect(t, server.DSN())
	s := etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{})
	assign := func() assigner.Grant {
		t.Helper()
		var l assigner.Lease
		testkit.Succeeds(t, "a claim", func() (err error) {
			l, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
			return err
		})
		testkit.Must(t, l.End(t.Context(), assigner.Ending{Released: true}))
		return l.Grant()
	}
	assign()
	snapshot, known := t.TempDir()+"/snapshot", stores.Status(t, s).Identity
	run("--endpoints", server.DSN(), "snapshot", "save", snapshot)
	lost := assign()
	members, err := client.MemberList(t.Context())
	testkit.Must(t, err)
	server.Stop()
	testkit.Must(t, os.RemoveAll(data))
	peer := members.Members[0].PeerURLs[0]
	run("snapshot", "restore", snapshot, "--data-dir", data, "--name", "n0", "--initial-cluster", "n0="+peer, "--initial-advertise-peer-urls", peer)
	server.Restart()
	if got := stores.Status(t, s).Identity; got != known {
		t.Errorf("identity %q after a restore with the same token and addresses, was %q", got, known)
	}
	testkit.Succeeds(t, "Recover", func() error { return leasestore.Recover(t.Context(), s, leasestore.Recovery{Lead: time.Hour}) })
	if next := assign(); next.WorkerID != lost.WorkerID || next.First <= lost.Last {
		t.Errorf("grant %+v after Recover, want deltas above the lost grant %+v", next, lost)
	}
}
