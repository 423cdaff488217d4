package redisassigner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
)

// LeaseStore returns the store of a namespace, for [assigner.Leased], [assigner.Auto] and
// [assigner.Fenced]:
//
//	numbers := assigner.Leased(redisassigner.LeaseStore(client, "orders"), assigner.LeaseConfig{})
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. Services whose
// IDs meet in one table or message use the same namespace. A name that differs from an existing
// namespace only in letter case is rejected with [assigner.ErrWorkerOverlap]. The store implements
// [assigner.Namespaced]. Its keys are
//
//   - uidring:orders, a hash with a field for each worker ID and the field meta;
//   - {uidring:orders}:expiry, a sorted set of the worker IDs by the time at which they expire;
//   - {uidring}:namespaces, a hash with the names of all namespaces.
//
// Keys never expire, and rows are never deleted. One script writes a row together with its entry in
// the sorted set. If the two differ all the same, a claim repairs the set.
//
// The client must connect to the primary: a replica may return stale fences. All operations return
// an error for a [redis.ClusterClient] that reads from replicas, a client with a cache, and a
// [redis.Ring], which moves a key to another server when one is down. The client may retry calls,
// as it does by default: a swap recognises its own effect. The caller closes the client. Unless its
// Options.ContextTimeoutEnabled is set, a call to a server that does not answer may exceed its
// context by Options.ReadTimeout.
//
// Any number of goroutines may use the store at once.
func LeaseStore(client redis.UniversalClient, namespace string) assigner.Store {
	return &leases{
		client:    client,
		err:       errors.Join(checkClient(client), assigner.CheckNamespace(namespace)),
		namespace: namespace,
		key:       hashKey(namespace),
		change:    redis.NewScript(swapScript),
		expired:   redis.NewScript(expiredScript),
	}
}

type leases struct {
	client    redis.UniversalClient
	err       error // of the arguments of LeaseStore
	namespace string
	key       string // of the hash
	change    *redis.Script
	expired   *redis.Script
}

func hashKey(namespace string) string { return "uidring:" + namespace }

// expiryKey returns the key of the sorted set of worker IDs by expiry. Its hash tag is the key of
// the hash, so that a cluster keeps both on one server.
func (l *leases) expiryKey() string { return "{" + l.key + "}:expiry" }

// metaField is the field of the meta row; the others are worker IDs.
const metaField = "meta"

func checkClient(client redis.UniversalClient) error {
	const allowed = "allowed: a Client without a cache, or a ClusterClient that reads from primaries"
	switch c := client.(type) {
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

func (l *leases) LoadMeta(ctx context.Context) (assigner.Meta, error) {
	text, err := l.load(ctx, metaField)
	if err != nil || text == "" {
		return assigner.Meta{}, err
	}
	return decodeMeta(l.key, text)
}

// SwapMeta returns ErrWorkerOverlap instead of creating a namespace whose name differs from an
// existing one only in letter case.
func (l *leases) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	var expected any
	if old != (assigner.Meta{}) {
		expected = metaGuard{old.Version, old.Token}
	} else if err := l.register(ctx); err != nil {
		return false, err
	}
	record := metaRecord{stamp: newStamp(), Version: next.Version, Meta: next}
	return l.swap(ctx, []string{l.key}, metaField, expected, record, next.Namespace, next.Token, next.Identity)
}

func (l *leases) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	field := strconv.FormatInt(workerID, 10)
	text, err := l.load(ctx, field)
	if err != nil || text == "" {
		return assigner.Row{}, err
	}
	return l.row(field, text)
}

// load returns the value of a field, or "" when the field does not exist.
func (l *leases) load(ctx context.Context, field string) (string, error) {
	if err := l.ready(ctx); err != nil {
		return "", err
	}
	text, err := l.client.HGet(ctx, l.key, field).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", l.explain(ctx, "read field "+field, err)
	}
	return text, nil
}

// List reads the hash in one command, which gives a consistent snapshot. HSCAN may skip fields when
// its cursor goes on after a failover, and Recover would not raise the fences of skipped rows.
func (l *leases) List(ctx context.Context) ([]assigner.Row, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	fields, err := l.client.HGetAll(ctx, l.key).Result()
	if err != nil {
		return nil, l.explain(ctx, "read", err)
	}
	delete(fields, metaField)
	rows := make([]assigner.Row, 0, len(fields))
	for field, text := range fields {
		row, err := l.row(field, text)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (l *leases) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	var expected any
	if g := (rowGuard{old.Version, old.Fence, old.Token}); g != (rowGuard{}) {
		expected = g
	}
	record := rowRecord{
		stamp:    newStamp(),
		rowGuard: rowGuard{next.Version, next.Fence, next.Token},
		Owner:    next.Owner,
		Holder:   next.Holder,
		Identity: next.Identity,
		TTL:      ttl.Microseconds(),
	}
	keys := []string{l.key, l.expiryKey()}
	return l.swap(ctx, keys, strconv.FormatInt(next.WorkerID, 10), expected, record, next.Token, next.Owner, next.Holder, next.Identity)
}

// swap runs swapScript. expected is the guard that the field must have; nil requires that the field
// does not exist. texts are the texts in the record.
func (l *leases) swap(ctx context.Context, keys []string, field string, expected, record any, texts ...string) (bool, error) {
	guard, errGuard := json.Marshal(expected)
	value, errRecord := json.Marshal(record)
	if err := errors.Join(l.ready(ctx), l.checkTexts(field, texts), errGuard, errRecord); err != nil {
		return false, err
	}
	swapped, err := l.change.Run(ctx, l.client, keys, field, guard, value).Bool()
	if err != nil {
		return false, l.explain(ctx, "write field "+field, err)
	}
	return swapped, nil
}

// ready returns an error when the arguments of LeaseStore were wrong or ctx has ended.
func (l *leases) ready(ctx context.Context) error {
	if l.err != nil {
		return l.err
	}
	if err := ctx.Err(); err != nil {
		return l.explain(ctx, "begin", err)
	}
	return nil
}

func (l *leases) explain(ctx context.Context, what string, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return fmt.Errorf("redisassigner: hash %s: cannot %s: %w", l.key, what, err)
}
