package etcdassigner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
)

// format is the version of the records that this code knows.
const format = 1

// A record is the value of a key, in JSON: an [assigner.Meta] or an [assigner.Row].
type record[T any] struct {
	Format int
	Swap   string // random, of the call that wrote the record
	Value  T
}

// decode returns the zero record when there is no such key.
func decode[T any](kvs ...*mvccpb.KeyValue) (r record[T], err error) {
	if len(kvs) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(kvs[0].Value, &r); err != nil {
		return r, fmt.Errorf("etcdassigner: key %q is none of this package's: %w", kvs[0].Key, err)
	}
	if r.Format != format {
		return r, fmt.Errorf("%w: key %q of etcd has format %d, here %d; use a release of this library that knows it",
			assigner.ErrLayoutMismatch, kvs[0].Key, r.Format, format)
	}
	return r, nil
}

// load returns the zero value when there is no such key. Like all reads here it is one that a majority confirms.
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

// swap writes next if the value of a key holds what the caller says, the zero value when there is no such key.
func swap[T any](ctx context.Context, l *leases, key string, next T, holds func(T) bool) (bool, error) {
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
		switch {
		case err != nil:
			return false, err
		case stored.Swap == mine.Swap:
			return true, nil // the client has sent the transaction again, which it does when the server gives up on it
		case !holds(stored.Value):
			return false, nil
		}
		revision := int64(0) // of no key
		if len(kvs) > 0 {
			revision = kvs[0].ModRevision
		}
		done, err := l.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
			Then(clientv3.OpPut(key, string(text))).
			Else(clientv3.OpGet(key)).
			Commit()
		if err != nil {
			return false, l.explain(ctx, "write "+key, err)
		}
		if done.Succeeded {
			return true, nil
		}
		// Somebody has written it since, maybe only to renew it with the same fence.
		kvs = done.Responses[0].GetResponseRange().Kvs
	}
}

// checkTexts: what is not UTF-8 comes back from JSON as something else.
func checkTexts(key string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("etcdassigner: key %s is to hold %q, allowed: UTF-8", key, text)
		}
	}
	return nil
}
