package redisassigner_test

import (
	"errors"
	"fmt"
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
	"github.com/uidring/uidring/internal/test/testserver"
)

const (
	noFile  = "appendonly=no (allowed: yes)"
	denied  = "CONFIG GET is denied (NOPERM"
	rewrite = "no-appendfsync-on-rewrite=yes (allowed: no)"
	evicts  = "maxmemory-policy=allkeys-lru (allowed: noeviction, volatile-*)"
)

// checkFaults checks that a server with these faults is refused, and that AllowUndurable accepts
// it. want are the beginnings of the faults.
func checkFaults(t *testing.T, s leasestore.Store, want []string) {
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

func TestStatusReportsSettingsThatAreNotDurable(t *testing.T) {
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
func TestStatusReportsReplicasThatThePrimaryDoesNotWaitFor(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	testserver.RedisReplica(t, primary)
	admin := connect(t, options(primary.Addr()))
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
	return []any{"~" + metas, "~" + folders + "*", "+eval", "+time", "+info", "+hget", "+hset", "+hgetall", "+sadd", "+smembers"}
}

// addUser makes the user ids, or changes its rights.
func addUser(t *testing.T, admin *redis.Client, rights ...any) {
	t.Helper()
	if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "ids", "reset", "on", ">hunter2"}, rights...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestLeaseStoreNeedsTheDocumentedRights(t *testing.T) {
	server := testserver.Redis(t)
	admin := connect(t, options(server.Addr()))
	opt := options(server.Addr())
	opt.Username, opt.Password = "ids", "hunter2"
	user := func(rights ...any) leasestore.Store {
		t.Helper()
		addUser(t, admin, rights...)
		return redisassigner.LeaseStore(connect(t, opt), namespace)
	}
	checkFaults(t, user(append(rights(), "+config|get")...), nil)
	checkFaults(t, user(rights()...), []string{denied})
	refusal := regexp.MustCompile("NOPERM|user executing the script can't run this command")
	for i, right := range rights() {
		s := user(append(slices.Delete(rights(), i, i+1), "+config|get")...)
		if err := admin.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(stores.EveryCall(t.Context(), t, s, time.Minute)...)
		if text := fmt.Sprint(err); !refusal.MatchString(text) || strings.Contains(text, "hunter2") {
			t.Errorf("without %s: %v; want the server's refusal, without the password", right, err)
		}
	}
}

func TestLeaseStoreOnAReplicaIsRefused(t *testing.T) {
	replica := testserver.RedisReplica(t, testserver.Redis(t))
	s := redisassigner.LeaseStore(connect(t, options(replica.Addr())), namespace)
	for _, allow := range []bool{false, true} {
		_, err := assigner.Leased(s, assigner.LeaseConfig{AllowUndurable: allow}).Assign(t.Context(), assignertest.Domain())
		if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), "connect to the primary") {
			t.Errorf("Assign on a replica: %v; want ErrStoreNotDurable that says where to connect", err)
		}
	}
	if ok, err := s.Swap(t.Context(), leasestore.Row{}, stores.Sample(), time.Hour); ok || err == nil || !strings.Contains(err.Error(), "connect to the primary") {
		t.Errorf("Swap on a replica: %v, %v; want an error", ok, err)
	}
}

func TestLeaseStoreSaysWhatIsWrong(t *testing.T) {
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
		stores.Fail(t, redisassigner.LeaseStore(connect(t, opt), namespace), "kvassigner: Redis at "+tt.addr+": ", tt.want)
	}
}
