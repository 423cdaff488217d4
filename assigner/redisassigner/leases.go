package redisassigner

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// Config configures a [LeaseStore]. It has no options yet: use its zero value.
type Config struct{}

// LeaseStore returns the store of a namespace, see [kvassigner.LeaseStore]. The keys hold JSON in
// the format of that package:
//
//   - {uidring}:meta, a hash with the meta rows of all namespaces;
//   - {uidring}:worker/orders/0000000000000004, a hash with the rows of workers 4,000 to 4,999;
//   - {uidring}:worker/orders, a set of the names of these hashes.
//
// Keys never expire, and rows are never deleted. A cluster keeps all of them on one server.
//
// The client must connect to the primary: a replica may return stale fences. All operations return
// an error for a [redis.ClusterClient] that reads from replicas, a client with a cache, and a
// [redis.Ring], which moves a key to another server when one is down. The client may retry calls,
// as it does by default: a swap recognises its own effect. The caller closes the client. A call to
// a server that does not answer may exceed its context by Options.ReadTimeout: always if the
// context is canceled, and at its deadline unless Options.ContextTimeoutEnabled is set.
func LeaseStore(client redis.UniversalClient, namespace string, _ Config) leasestore.Store {
	return kvassigner.LeaseStore(&store{client}, namespace, kvassigner.Config{})
}

// A store is a KV. A key is a field of a hash; all hashes are on one server of a cluster.
type store struct{ client redis.UniversalClient }

// root begins all keys. The braces make a cluster keep them on one server.
const root = "{uidring}:"

// hashKey returns the hash and the field of a key of package kvassigner.
func hashKey(key string) (hash, field string) {
	return root + path.Dir(key), path.Base(key)
}

func (s *store) Check(string) error {
	const allowed = "allowed: a Client without a cache, or a ClusterClient that reads from primaries"
	switch c := s.client.(type) {
	case nil:
		return errors.New("redisassigner: client is nil, " + allowed)
	case *redis.Client:
		if opt := c.Options(); opt.ClientSideCache != nil || opt.ClientSideCacheConfig != nil {
			return errors.New("redisassigner: client has a ClientSideCache, " + allowed)
		}
	case *redis.Ring:
		return errors.New("redisassigner: client is a Ring, which moves keys to other servers, " + allowed)
	case *redis.ClusterClient:
		if c.Options().ReadOnly {
			return errors.New("redisassigner: client has ReadOnly, RouteByLatency or RouteRandomly, " + allowed)
		}
	}
	return nil
}

// String names the store in errors and log records.
func (s *store) String() string {
	switch c := s.client.(type) {
	case *redis.Client:
		const sentinel = "FailoverClient" // the client does not tell the names that it asks Sentinel for
		if opt := c.Options(); opt.Addr != sentinel {
			return fmt.Sprintf("Redis at %s/%d", opt.Addr, opt.DB)
		}
		return fmt.Sprintf("the primary of Redis Sentinel, database %d", c.Options().DB)
	case *redis.ClusterClient:
		return "Redis cluster at " + strings.Join(c.Options().Addrs, ", ")
	}
	return "Redis"
}

// passing finds the errors of a server that starts or runs a long script, of a replica, which may
// become the primary, of a cluster that is incomplete or busy, and of a write for which memory, the
// disk or replicas are missing. Redis 6 and older put the place in the script before the last ones.
var passing = regexp.MustCompile(`(^|: -)(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOREPLICAS|OOM|READONLY|TRYAGAIN) |^ERR max number of clients reached`)

// Passes reports also a pool whose connections are all in use.
func (s *store) Passes(err error) bool {
	answer, ok := errors.AsType[redis.Error](err)
	return ok && passing.MatchString(answer.Error()) || errors.Is(err, leasestore.ErrNotDurable) || errors.Is(err, redis.ErrPoolTimeout)
}

// Get returns the value as its revision: each record has a random text of its own.
func (s *store) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	hash, field := hashKey(key)
	text, err := s.client.HGet(ctx, hash, field).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return []byte(text), text, err
}

// putScript sets the field ARGV[1] of the hash KEYS[1] from ARGV[2] to ARGV[3], and adds ARGV[4] to
// the set KEYS[2] if there is one.
const putScript = `
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then
	return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
if KEYS[2] then
	redis.call('SADD', KEYS[2], ARGV[4])
end
return 1
`

func (s *store) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	hash, field := hashKey(key)
	keys := []string{hash}
	if set, ok := strings.CutSuffix(hash, "/"+path.Base(hash)); ok {
		keys = append(keys, set)
	}
	return s.client.Eval(ctx, putScript, keys, field, revision, value, path.Base(hash)).Bool()
}

// List reads hashes whole: HSCAN may skip fields when its cursor goes on after a failover.
func (s *store) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	folder := root + strings.TrimSuffix(prefix, "/")
	folders := []string{folder}
	if strings.Count(prefix, "/") == 2 { // all rows of a namespace
		if folders, err = s.client.SMembers(ctx, folder).Result(); err != nil {
			return nil, err
		}
		for i, name := range folders {
			folders[i] = folder + "/" + name
		}
	}
	for _, hash := range folders {
		fields, err := s.client.HGetAll(ctx, hash).Result()
		if err != nil {
			return nil, fmt.Errorf("hash %s: %w", hash, err)
		}
		for field, text := range fields {
			entries = append(entries, kvassigner.Entry{Key: hash + "/" + field, Value: []byte(text)})
		}
	}
	return entries, nil
}
