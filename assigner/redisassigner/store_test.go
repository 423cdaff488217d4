package redisassigner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// namespace is used by the cases; the other names are its keys.
const (
	namespace = "orders-1.eu_west"
	metas     = "{uidring}:meta"
	folders   = "{uidring}:worker/" + namespace
)

func TestMain(m *testing.M) {
	segmenttest.Child(func(addr string) (segment.Source, error) {
		return redisassigner.SegmentSource(redis.NewClient(options(addr)), redisassigner.SegmentConfig{}), nil
	})
	os.Exit(m.Run())
}

func options(addr string) *redis.Options {
	return &redis.Options{Addr: addr, ContextTimeoutEnabled: true}
}

// connect opens a client that ends with the test.
func connect(t *testing.T, opt *redis.Options) *redis.Client {
	t.Helper()
	return testkit.Close(t, redis.NewClient(opt), nil)
}

// namespaces returns a func that opens empty namespaces on a server. Clients send a call again as
// often as retries says; 0: by default.
func namespaces(t *testing.T, retries int) func(t *testing.T) assignertest.StoreFixture {
	b := &stores.Backend{
		Servers: []*testserver.Server{testserver.Redis(t)},
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			opt := options(s.Addr())
			opt.Dialer, opt.MaxRetries = dial, retries
			return redisassigner.LeaseStore(connect(t, opt), namespace, redisassigner.Config{})
		},
	}
	return b.Namespace
}

func TestConformance(t *testing.T) {
	t.Parallel() // it waits for quarantines, as the other parallel tests do
	assignertest.RunStore(t, namespaces(t, 0))
}

func TestExample(t *testing.T) {
	t.Setenv("IDS_REDIS", testserver.Redis(t).Addr())
	testkit.Example(t, ExampleLeaseStore)
}

// The client sends a call again when its connection ends, unless MaxRetries keeps it from that.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{3, -1} {
		assignertest.RunFaults(t, namespaces(t, retries))
	}
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	cluster := func(opt *redis.ClusterOptions) redis.UniversalClient {
		opt.Addrs = []string{"127.0.0.1:1"}
		return testkit.Close(t, redis.NewClusterClient(opt), nil)
	}
	caching := options("127.0.0.1:1")
	caching.ClientSideCacheConfig, caching.Protocol = &redis.ClientSideCacheConfig{}, 3
	ring := testkit.Close(t, redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}}), nil)
	stores.Fail(t, redisassigner.LeaseStore(nil, "a", redisassigner.Config{}), "client is nil")
	stores.Fail(t, redisassigner.LeaseStore(ring, "a", redisassigner.Config{}), "assigner: ", "Ring")
	stores.Fail(t, redisassigner.LeaseStore(connect(t, caching), "a", redisassigner.Config{}), "ClientSideCache")
	stores.Fail(t, redisassigner.LeaseStore(cluster(&redis.ClusterOptions{RouteByLatency: true}), "a", redisassigner.Config{}), "RouteByLatency")
	stores.Fail(t, redisassigner.LeaseStore(cluster(&redis.ClusterOptions{ReadOnly: true}), "a/b", redisassigner.Config{}), "ReadOnly", `namespace "a/b"`)
}

// Keys are routed, and commands without a key go anywhere.
func TestLeaseStoreWorksOnACluster(t *testing.T) {
	servers := testserver.RedisCluster(t, 3)
	for _, server := range servers {
		addUser(t, connect(t, options(server.Addr())), append(rights(), "+config|get", "+cluster|slots")...)
	}
	addrs := []string{servers[2].Addr()}
	client := testkit.Close(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Username: "ids", Password: "hunter2", ContextTimeoutEnabled: true}), nil)
	s := redisassigner.LeaseStore(client, namespace, redisassigner.Config{})
	testkit.Must(t, errors.Join(stores.EveryCall(t.Context(), t, s, time.Minute)...))
	checkFaults(t, s, nil)
}

// checkFaults checks that a server with these faults is refused, and that AllowUndurable accepts
// it. want are the beginnings of the faults.
func checkFaults(t *testing.T, s leasestore.Store, want []string) {
	t.Helper()
	status, err := s.Status(t.Context())
	if err != nil || !slices.EqualFunc(status.Faults, want, strings.HasPrefix) || !status.Lossy {
		t.Errorf("status %+v, %v; want a lossy store with faults %q", status, err, want)
	}
	_, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if len(want) > 0 {
		stores.WantError(t, err, leasestore.ErrNotDurable, append(want, "AllowUndurable")...)
	} else if errors.Is(err, leasestore.ErrNotDurable) {
		t.Errorf("Assign: %v", err)
	}
	_, err = assigner.Leased(s, assigner.LeaseConfig{AllowUndurable: true}).Assign(t.Context(), assignertest.Domain())
	if !errors.Is(err, assigner.ErrQuarantined) {
		t.Errorf("Assign with AllowUndurable: %v; want a claim in quarantine", err)
	}
}

func TestStatusReportsSettingsThatAreNotDurable(t *testing.T) {
	server := testserver.Redis(t)
	s := redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace, redisassigner.Config{})
	for _, tt := range []struct{ args, want []string }{
		{[]string{"--appendonly", "no", "--appendfsync", "no"}, []string{"appendonly=no (allowed: yes)", "appendfsync=no (allowed: always)"}},
		{[]string{"--no-appendfsync-on-rewrite", "yes"}, []string{"no-appendfsync-on-rewrite=yes (allowed: no)"}},
		{[]string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, []string{"maxmemory-policy=allkeys-lru (allowed: noeviction, volatile-*)"}},
		{[]string{"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"}, nil},
		{[]string{"--maxmemory-policy", "allkeys-lru"}, nil},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			server.Restart(tt.args...)
			checkFaults(t, s, tt.want)
		})
	}
}

// Without min-replicas-to-write a primary that lost its replicas goes on as a second primary.
func TestStatusReportsReplicasThatThePrimaryDoesNotWaitFor(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	replica := testserver.RedisReplica(t, primary)
	admin := connect(t, options(primary.Addr()))
	for _, tt := range []struct {
		replicas, lag string
		want          []string
	}{
		{"0", "10", []string{"min-replicas-to-write or min-replicas-max-lag is 0 with connected_slaves=1 (allowed: 1 or more, and 10)"}},
		{"1", "0", []string{"min-replicas-to-write or min-replicas-max-lag is 0 with connected_slaves=1"}},
		{"1", "10", nil},
	} {
		err := errors.Join(admin.ConfigSet(t.Context(), "min-replicas-to-write", tt.replicas).Err(),
			admin.ConfigSet(t.Context(), "min-replicas-max-lag", tt.lag).Err())
		testkit.Must(t, err)
		checkFaults(t, redisassigner.LeaseStore(admin, namespace, redisassigner.Config{}), tt.want)
	}
	s := redisassigner.LeaseStore(connect(t, options(replica.Addr())), namespace, redisassigner.Config{})
	_, err := assigner.Leased(s, assigner.LeaseConfig{AllowUndurable: true}).Assign(t.Context(), assignertest.Domain())
	stores.Waits(t, true, err, leasestore.ErrNotDurable, "connect to the primary")
}

// rights are the rights in the documentation, without CONFIG GET.
func rights() []any {
	return []any{"~" + metas, "~" + folders + "*", "+eval", "+time", "+info", "+hget", "+hset", "+hgetall", "+sadd", "+smembers"}
}

// addUser makes the user ids, or changes its rights.
func addUser(t *testing.T, admin *redis.Client, rights ...any) {
	t.Helper()
	testkit.Must(t, admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "ids", "reset", "on", ">hunter2"}, rights...)...).Err())
}

func TestLeaseStoreNeedsTheDocumentedRights(t *testing.T) {
	server := testserver.Redis(t)
	admin := connect(t, options(server.Addr()))
	opt := options(server.Addr())
	opt.Username, opt.Password = "ids", "hunter2"
	user := func(rights ...any) leasestore.Store {
		t.Helper()
		addUser(t, admin, rights...)
		return redisassigner.LeaseStore(connect(t, opt), namespace, redisassigner.Config{})
	}
	checkFaults(t, user(append(rights(), "+config|get")...), nil)
	checkFaults(t, user(rights()...), []string{"CONFIG GET is denied (NOPERM"})
	refusal := regexp.MustCompile("NOPERM|user executing the script can't run this command|ACL failure in script")
	for i, right := range rights() {
		s := user(append(slices.Delete(rights(), i, i+1), "+config|get")...)
		testkit.Must(t, admin.FlushAll(t.Context()).Err())
		err := errors.Join(stores.EveryCall(t.Context(), t, s, time.Minute)...)
		if text := fmt.Sprint(err); !refusal.MatchString(text) || strings.Contains(text, "hunter2") {
			t.Errorf("without %s: %v; want the server's refusal, without the password", right, err)
		}
	}
}

func TestLeaseStoreSaysWhatIsWrong(t *testing.T) {
	server := testserver.Redis(t)
	for addr, want := range map[string]string{server.Addr(): "WRONGPASS", "127.0.0.1:1": "connection refused"} {
		opt := options(addr)
		opt.Username, opt.Password, opt.MaxRetries, opt.DialerRetries = "ids", "hunter2", -1, 1
		opt.DB = 2
		stores.Fail(t, redisassigner.LeaseStore(connect(t, opt), namespace, redisassigner.Config{}), "kvassigner: Redis at "+addr+"/2: ", want)
	}
}

// An answer is an error of a server, and a hook that returns it from each call.
type answer string

func (a answer) Error() string                             { return string(a) }
func (answer) RedisError()                                 {}
func (answer) DialHook(next redis.DialHook) redis.DialHook { return next }
func (answer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (a answer) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return a }
}

// A start waits for the end of a script, and for the memory or the replicas that a write needs.
func TestErrorsOfABusyServerPass(t *testing.T) {
	server := testserver.Redis(t)
	admin, other := connect(t, options(server.Addr())), connect(t, options(server.Addr()))
	s := redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace, redisassigner.Config{})
	passes := func(want string) {
		t.Helper()
		_, err := s.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{})
		stores.Waits(t, true, err, nil, want)
	}
	for setting, want := range map[string]string{"maxmemory": "OOM", "min-replicas-to-write": "NOREPLICAS"} {
		testkit.Must(t, admin.ConfigSet(t.Context(), setting, "1").Err())
		passes(want)
		testkit.Must(t, admin.ConfigSet(t.Context(), setting, "0").Err())
	}
	testkit.Must(t, admin.ConfigSet(t.Context(), "lua-time-limit", "1").Err())
	ended := make(chan error)
	go func() { ended <- other.Eval(t.Context(), "while true do end", nil).Err() }()
	testkit.Until(t, "a busy server", func() bool { return strings.HasPrefix(fmt.Sprint(admin.Ping(t.Context()).Err()), "BUSY") })
	passes("BUSY")
	testkit.Must(t, admin.ScriptKill(t.Context()).Err())
	if err := <-ended; err == nil {
		t.Error("the script has not been killed")
	}
	for text, waits := range map[answer]bool{
		"MISCONF Errors writing to the AOF file: No space left on device script: f, on @user_script:5.":                           true,
		"ERR Error running script (call to f_1): @user_script:5: @user_script: 5: -NOREPLICAS Not enough good replicas to write.": true, // of Redis 6
		"NOPERM this user has no permissions to run the 'eval' command":                                                           false,
	} {
		client := connect(t, options(server.Addr()))
		client.AddHook(text)
		_, err := redisassigner.LeaseStore(client, namespace, redisassigner.Config{}).Load(t.Context(), 7)
		stores.Waits(t, waits, err, nil, string(text))
	}
}

func TestSegments(t *testing.T) {
	s := testserver.Redis(t)
	f := segmenttest.Fixture{Open: func(t *testing.T) segment.Source {
		return redisassigner.SegmentSource(connect(t, options(s.Addr())), redisassigner.SegmentConfig{})
	}}
	t.Run("Suite", func(t *testing.T) { segmenttest.Run(t, f) })
	t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, s.Addr(), s.Kill9, func() { s.Restart() }) })
}

func TestAdvanceOnAnUndurableServerIsRefused(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	admin := connect(t, options(primary.Addr()))
	source := func(addr string, cfg redisassigner.SegmentConfig) segment.Source {
		return redisassigner.SegmentSource(connect(t, options(addr)), cfg)
	}
	refused := func(s segment.Source, want string) {
		t.Helper()
		_, err := s.Advance(t.Context(), "a", 1)
		stores.WantError(t, err, leasestore.ErrNotDurable, want)
	}
	replica := testserver.RedisReplica(t, primary)
	refused(source(primary.Addr(), redisassigner.SegmentConfig{}), "connected_slaves=1 (allowed: 0)")
	refused(source(replica.Addr(), redisassigner.SegmentConfig{AllowUndurable: true}), "connect to the primary")
	replica.Kill9() // a replica that writes its first file does not stop
	testkit.Until(t, "the primary notices the end of its replica", func() bool {
		return strings.Contains(admin.Info(t.Context(), "replication").Val(), "connected_slaves:0")
	})
	testkit.Must(t, admin.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	refused(source(primary.Addr(), redisassigner.SegmentConfig{}), "appendfsync=everysec (allowed: always)")
	r, err := source(primary.Addr(), redisassigner.SegmentConfig{AllowUndurable: true}).Advance(t.Context(), "a", 1)
	if err != nil || r.First != 1 {
		t.Errorf("with AllowUndurable: range %v, %v, want 1: a call that was refused has moved the counter", r, err)
	}
	if r, err := redisassigner.SegmentSource(nil, redisassigner.SegmentConfig{}).Advance(t.Context(), "a", 1); err == nil {
		t.Errorf("without a client: range %v, want an error", r)
	}
}
