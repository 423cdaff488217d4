package kvassigner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// format is the version of the records that this code knows. It rises when a reader that does not
// know a change would do harm. A reader ignores fields that it does not know.
const format = 1

// A record is the value of a key, in JSON: a namedMeta, an [leasestore.Row], a time or a number.
type record[T any] struct {
	Reader int    `json:"reader"` // the lowest format that a reader must know
	Swap   string `json:"swap"`   // random, of the call that wrote the record
	Value  T      `json:"value"`
}

// Row returns the row in the value of a key under worker/, for a KV that shows rows to people.
func Row(value []byte) (leasestore.Row, error) {
	r, err := decode[leasestore.Row]("of a row", value)
	return r.Value, err
}

func decode[T any](key string, value []byte) (r record[T], err error) {
	err = json.Unmarshal(value, &r)
	if r.Reader > format { // also beside an error: values of a later format may have other types
		return record[T]{}, fmt.Errorf("%w: key %s of the store needs a reader of format %d, here %d; use a release of this library that knows it",
			assigner.ErrLayoutMismatch, key, r.Reader, format)
	}
	if err == nil && r.Reader < 1 {
		err = errors.New("it has no number reader")
	}
	if err != nil {
		return record[T]{}, fmt.Errorf("kvassigner: key %s was not written by this package: %w", key, err)
	}
	return r, nil
}

// get returns the record of a key and its revision, or the zero record when the key does not exist.
func get[T any](ctx context.Context, l *leases, key string) (r record[T], revision string, err error) {
	if l.err != nil {
		return r, "", l.err
	}
	value, revision, err := l.kv.Get(ctx, key)
	if err != nil {
		return r, "", l.explain(ctx, "read "+key, err)
	}
	if revision == "" {
		return r, "", nil
	}
	r, err = decode[T](key, value)
	return r, revision, err
}

func put[T any](ctx context.Context, l *leases, key string, r record[T], revision string) (bool, error) {
	value, err := json.Marshal(r)
	if len(value) > MaxValue {
		err = fmt.Errorf("its texts take %d bytes, allowed: %d in all", len(value), MaxValue)
	}
	if err != nil {
		return false, l.explain(ctx, "write "+key, err)
	}
	ok, err := l.kv.Put(ctx, key, value, revision)
	if err != nil {
		return false, l.explain(ctx, "write "+key, err)
	}
	return ok, nil
}

// list returns the values of all records with a prefix.
func list[T any](ctx context.Context, l *leases, prefix string) ([]T, error) {
	if l.err != nil {
		return nil, l.err
	}
	entries, err := l.kv.List(ctx, prefix)
	if err != nil {
		return nil, l.explain(ctx, "list "+prefix, err)
	}
	values := make([]T, len(entries))
	for i, e := range entries {
		r, err := decode[T](e.Key, e.Value)
		if err != nil {
			return nil, err
		}
		values[i] = r.Value
	}
	return values, nil
}

// swap writes the value that next returns for the stored value of the key, or for the zero value
// when the key does not exist. It returns false if next does, also beside an error.
func swap[T any](ctx context.Context, l *leases, key string, next func(stored T) (T, bool, error)) (bool, error) {
	mark := rand.Text()
	for {
		stored, revision, err := get[T](ctx, l, key)
		if err != nil {
			return false, err
		}
		if stored.Swap == mark {
			return true, nil // a client that sent the write twice got the answer to the second one
		}
		value, ok, err := next(stored.Value)
		if !ok {
			return false, err
		}
		// After false, another process has written the key, perhaps only to renew the row with the
		// same fence.
		//mutate:operand the next turn reads the record just written
		if ok, err := put(ctx, l, key, record[T]{format, mark, value}, revision); ok || err != nil {
			return ok, err
		}
	}
}
