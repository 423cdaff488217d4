package redisassigner_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/stores"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

const (
	noFile  = "appendonly=no (allowed: yes)"
	denied  = "CONFIG GET is denied (NOPERM"
	rewrite = "no-appendfsync-on-rewrite=yes (allowed: no)"
	evicts  = "maxmemory-policy=allkeys-lru (allowed: noeviction, volatile-*)"
)

// checkFaults checks that a server with these faults is refused, and that AllowUndurable accepts
// it. want are the beginnings of the faults.
func checkFaults(t *testing.T, s assigner.Store, want []string) {
	t.Helper()
	status, err := s.Status(t.Context())
	if err != nil || !slices.EqualFunc(status.Faults, want, strings.HasPrefix) || !status.Lossy {
		t.Errorf("status %+v, %v; want a lossy store with faults %q", status, err, want)
	}
	_, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if refused := errors.Is(err, assigner.ErrStoreNotDurable); refused != (len(want) > 0) {
		t.Errorf("Assign: %v; want ErrStoreNotDurable: %v", err, len(want) > 0)
	}
	for _, fault := range want {
		if err == nil || !strings.Contains(err.Error(), fault) || !strings.Contains(err.Error(), "AllowUndurable") {
			t.Errorf("Assign: %v; want %q, and AllowUndurable", err, fault)
		}
	}
	_, err = assigner.Leased(s, assigner.LeaseConfig{AllowUndurable: true}).Assign(t.Context(), assignertest.Domain())
	if !errors.Is(err, assigner.ErrQuarantined) {
		t.Errorf("Assign with AllowUndurable: %v; want a claim in quarantine", err)
	}
}

func TestUndurableRedisIsRefusedUnlessAllowed(t *testing.T) {
	server := testserver.Redis(t)
	s := redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace)
	for _, tt := range []struct{ args, want []string }{
		{[]string{"--appendonly", "no"}, []string{noFile}},
		{[]string{"--appendfsync", "everysec"}, []string{"appendfsync=everysec (allowed: always)"}},
		{[]string{"--appendonly", "no", "--appendfsync", "no"}, []string{noFile, "appendfsync=no (allowed: always)"}},
		{[]string{"--no-appendfsync-on-rewrite", "yes"}, []string{rewrite}},
		{[]string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, []string{evicts}},
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
func TestReplicasThatThePrimaryDoesNotWaitForAreAFault(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	testserver.Redis(t, "--replicaof", host+" "+port)
	admin := connect(t, options(primary.Addr()))
	for connected := false; !connected; {
		info, err := admin.Info(t.Context(), "replication").Result()
		if err != nil {
			t.Fatal(err)
		}
		connected = strings.Contains(info, "state=online")
	}
	s := redisassigner.LeaseStore(admin, namespace)
	for _, tt := range []struct {
		replicas, lag string
		want          []string
	}{
		{"0", "10", []string{"min-replicas-to-write or min-replicas-max-lag is 0 with connected_slaves=1 (allowed: 1 or more, and 10)"}},
		{"1", "0", []string{"min-replicas-to-write or min-replicas-max-lag is 0 with connected_slaves=1"}},
		{"1", "10", nil},
	} {
		t.Run(tt.replicas+" "+tt.lag, func(t *testing.T) {
			err := errors.Join(admin.ConfigSet(t.Context(), "min-replicas-to-write", tt.replicas).Err(),
				admin.ConfigSet(t.Context(), "min-replicas-max-lag", tt.lag).Err())
			if err != nil {
				t.Fatal(err)
			}
			checkFaults(t, s, tt.want)
		})
	}
}

// rights are the rights in the documentation, without CONFIG GET.
func rights() []any {
	return []any{"~" + hash, "~" + expiry, "~" + names, "%R~uidring:*", "+eval", "+evalsha", "+time", "+info",
		"+hget", "+hset", "+hsetnx", "+hgetall", "+hlen", "+hscan", "+zadd", "+zrem", "+zcard", "+zrangebyscore"}
}

// lameNamespace leaves a namespace that gives each right its use: another namespace beside it, a
// row that the set of expiries lacks, and an entry of the set without a row.
func lameNamespace(t *testing.T, admin *redis.Client) {
	t.Helper()
	if err := errors.Join(admin.FlushAll(t.Context()).Err(), admin.ScriptFlush(t.Context()).Err()); err != nil {
		t.Fatal(err)
	}
	stores.Create(t, redisassigner.LeaseStore(admin, namespace), assigner.Row{WorkerID: 8, Version: 1}, time.Hour)
	other, ok := redisassigner.LeaseStore(admin, "other").(assigner.Namespaced)
	if !ok {
		t.Fatal("the store is not Namespaced")
	}
	createMeta(t, other)
	err := admin.Del(t.Context(), expiry).Err()
	if err == nil {
		err = admin.ZAdd(t.Context(), expiry, redis.Z{Score: 1, Member: "9"}).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// addUser makes the user ids, or changes its rights.
func addUser(t *testing.T, admin *redis.Client, rights ...any) {
	t.Helper()
	if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "ids", "reset", "on", ">hunter2"}, rights...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRightsThatTheDocumentationNamesSuffice(t *testing.T) {
	server := testserver.Redis(t)
	admin := connect(t, options(server.Addr()))
	opt := options(server.Addr())
	opt.Username, opt.Password = "ids", "hunter2"
	user := func(rights ...any) assigner.Store {
		t.Helper()
		addUser(t, admin, rights...)
		return redisassigner.LeaseStore(connect(t, opt), namespace)
	}
	s := user(append(rights(), "+config|get")...)
	checkFaults(t, s, nil)
	meta, err := s.LoadMeta(t.Context())
	if err != nil || meta.NextWorkerID == 0 {
		t.Errorf("meta %+v, %v; want that of two claims", meta, err)
	}
	checkFaults(t, user(rights()...), []string{denied})

	lameNamespace(t, admin)
	if err := errors.Join(stores.EveryCall(t.Context(), user(rights()...), sample(), time.Minute)...); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	refusal := regexp.MustCompile("NOPERM|user executing the script can't run this command")
	for i, right := range rights() {
		s := user(append(slices.Delete(rights(), i, i+1), "+config|get")...)
		lameNamespace(t, admin)
		err := errors.Join(stores.EveryCall(t.Context(), s, sample(), time.Minute)...)
		if text := fmt.Sprint(err); !refusal.MatchString(text) || strings.Contains(text, "hunter2") {
			t.Errorf("without %s: %v; want the server's refusal, without the password", right, err)
		}
	}
}

func TestReplicaIsRefused(t *testing.T) {
	primary := testserver.Redis(t)
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	replica := testserver.Redis(t, "--replicaof", host+" "+port)
	s := redisassigner.LeaseStore(connect(t, options(replica.Addr())), namespace)
	for _, allow := range []bool{false, true} {
		_, err := assigner.Leased(s, assigner.LeaseConfig{AllowUndurable: allow}).Assign(t.Context(), assignertest.Domain())
		if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), "connect to the primary") {
			t.Errorf("Assign on a replica: %v; want ErrStoreNotDurable that says where to connect", err)
		}
	}
	if ok, err := s.Swap(t.Context(), assigner.Row{}, sample(), time.Hour); ok || err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("Swap on a replica: %v, %v; want the server's refusal", ok, err)
	}
}

func TestErrorsSayWhatIsWrongWithoutThePassword(t *testing.T) {
	server := testserver.Redis(t)
	if err := connect(t, options(server.Addr())).Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">hunter2").Err(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ addr, user, password, want string }{
		{server.Addr(), "", "", "NOAUTH"},
		{server.Addr(), "", "hunter2-wrong", "WRONGPASS"},
		{server.Addr(), "ids", "hunter2", "WRONGPASS"},
		{"127.0.0.1:1", "ids", "hunter2", "connection refused"},
	} {
		opt := options(tt.addr)
		opt.Username, opt.Password, opt.MaxRetries, opt.DialerRetries = tt.user, tt.password, -1, 1
		for _, err := range stores.EveryCall(t.Context(), redisassigner.LeaseStore(connect(t, opt), namespace), sample(), time.Minute) {
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v; want %q, without the password", err, tt.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "redisassigner: hash "+hash+": cannot ") {
				t.Errorf("%v; want what could not be done", err)
			}
		}
	}
}

// A server that takes connections and does not answer.
func TestCallsEndWithTheirContext(t *testing.T) {
	server := testserver.Redis(t)
	admin := connect(t, options(server.Addr()))
	s := redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace)
	row := stores.Create(t, s, sample(), time.Hour)
	if err := admin.Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	next := row
	next.Fence++
	begin := time.Now()
	if ok, err := s.Swap(ctx, row, next, time.Hour); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Swap: %v, %v; want context.DeadlineExceeded", ok, err)
	}
	if took := time.Since(begin); took > 2*time.Second { // Options.ReadTimeout is 3 s
		t.Errorf("Swap took %v, its context 100ms", took)
	}
	if err := admin.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); err != nil || !ok && stores.Load(t, s, 7).Fence != next.Fence {
		t.Errorf("Swap afterwards: %v, %v", ok, err)
	}
}

func TestClientWithoutContextTimeoutsNamesTheContextToo(t *testing.T) {
	server := testserver.Redis(t)
	admin := connect(t, options(server.Addr()))
	s := redisassigner.LeaseStore(connect(t, &redis.Options{Addr: server.Addr(), ReadTimeout: 200 * time.Millisecond}), namespace)
	if err := admin.Do(t.Context(), "CLIENT", "PAUSE", "60000", "ALL").Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if ok, err := s.Swap(ctx, assigner.Row{}, sample(), time.Hour); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Swap: %v, %v; want context.DeadlineExceeded", ok, err)
	}
}
