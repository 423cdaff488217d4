package etcdassigner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
)

// format is the version of the records that this code knows.
const format = 1

// A record is the value of a key, in JSON: a namedMeta, an [assigner.Row] or a time.
type record[T any] struct {
	Format int
	Swap   string // random, of the call that wrote the record
	Value  T
}

// decode returns the record of a key, or the zero record when the key does not exist.
func decode[T any](kvs ...*mvccpb.KeyValue) (r record[T], err error) {
	if len(kvs) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(kvs[0].Value, &r); err != nil {
		return r, fmt.Errorf("etcdassigner: key %q was not written by this package: %w", kvs[0].Key, err)
	}
	if r.Format != format {
		return r, fmt.Errorf("%w: key %q of etcd has format %d, here %d; use a release of this library that knows it",
			assigner.ErrLayoutMismatch, kvs[0].Key, r.Format, format)
	}
	return r, nil
}

// load returns the value of a key, or the zero value when the key does not exist. A majority
// confirms the read, like all reads of this package.
func load[T any](ctx context.Context, l *leases, key string) (value T, err error) {
	if l.err != nil {
		return value, l.err
	}
	answer, err := l.client.Get(ctx, key)
	if err != nil {
		return value, l.explain(ctx, "read "+key, err)
	}
	r, err := decode[T](answer.Kvs...)
	return r.Value, err
}

// swap writes next and the time of the write if holds accepts the stored value of the key, or the
// zero value when the key does not exist.
func swap[T any](ctx context.Context, l *leases, key string, next T, holds func(T) (bool, error)) (bool, error) {
	if l.err != nil {
		return false, l.err
	}
	mine := record[T]{Format: format, Swap: rand.Text(), Value: next}
	text, err := json.Marshal(mine)
	if err != nil {
		return false, l.explain(ctx, "write "+key, err)
	}
	answer, err := l.client.Get(ctx, key)
	if err != nil {
		return false, l.explain(ctx, "read "+key, err)
	}
	for kvs := answer.Kvs; ; {
		stored, err := decode[T](kvs...)
		if err != nil {
			return false, err
		}
		if stored.Swap == mine.Swap {
			return true, nil // the client has sent the transaction twice, as it may after a server error
		}
		if ok, err := holds(stored.Value); !ok || err != nil {
			return false, err
		}
		revision := int64(0) // the revision of a missing key
		if len(kvs) > 0 {
			revision = kvs[0].ModRevision
		}
		done, err := l.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
			Then(clientv3.OpPut(key, string(text)), clientv3.OpPut(l.seenKey(), seenNow())).
			Else(clientv3.OpGet(key)).
			Commit()
		if err != nil {
			return false, l.explain(ctx, "write "+key, err)
		}
		if done.Succeeded {
			return true, nil
		}
		// Another process has written the key since, perhaps only to renew the row with the same
		// fence.
		kvs = done.Responses[0].GetResponseRange().Kvs
	}
}

// seenNow returns a record with the present time by the clock of this host.
func seenNow() string {
	text, err := json.Marshal(record[time.Time]{Format: format, Swap: rand.Text(), Value: time.Now().UTC()})
	if err != nil {
		panic("bug: etcdassigner: " + err.Error()) // the year has more than four digits
	}
	return string(text)
}

// checkTexts rejects texts that are not UTF-8, since JSON would change them.
func checkTexts(key string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("etcdassigner: key %s: text %q, allowed: UTF-8", key, text)
		}
	}
	return nil
}
