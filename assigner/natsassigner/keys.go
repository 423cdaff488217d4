package natsassigner

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/kvassigner"
)

// keys is a bucket as a [kvassigner.KV].
type keys struct {
	js     jetstream.JetStream
	bucket string
	cfg    Config
	bound  atomic.Pointer[jetstream.KeyValue]
}

// A slash would make a key one token of its subject, and filters match whole tokens.
var (
	toSubject = strings.NewReplacer("/", ".", ".", "=")
	toKey     = strings.NewReplacer(".", "/", "=", ".")
)

// kv looks the bucket up once. Its handle reads from the leader unless its last status, which it
// keeps, allows direct gets.
func (k *keys) kv(ctx context.Context) (jetstream.KeyValue, error) {
	if kv := k.bound.Load(); kv != nil {
		return *kv, nil
	}
	kv, err := k.js.KeyValue(ctx, k.bucket)
	if err == nil {
		k.bound.Store(&kv)
	}
	return kv, err
}

// Get implements [kvassigner.KV].
func (k *keys) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	kv, err := k.kv(ctx)
	if err != nil {
		return nil, "", err
	}
	entry, err := kv.Get(ctx, toSubject.Replace(key))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	return entry.Value(), strconv.FormatUint(entry.Revision(), 10), nil
}

// Put implements [kvassigner.KV]. The revision is the sequence number of the last message of the
// key, which the leader compares. Create also replaces the marker of a deleted key.
func (k *keys) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	kv, err := k.kv(ctx)
	if err != nil {
		return false, err
	}
	if revision == "" {
		_, err = kv.Create(ctx, toSubject.Replace(key), value)
		return err == nil, except(err, jetstream.ErrKeyExists)
	}
	sequence, err := strconv.ParseUint(revision, 10, 64)
	if err != nil {
		return false, err
	}
	_, err = kv.Update(ctx, toSubject.Replace(key), value, sequence)
	return err == nil, except(err, jetstream.ErrKeyRevisionMismatch)
}

// except returns nil for an error which says that another process has written the key.
func except(err, conflict error) error {
	if errors.Is(err, conflict) {
		return nil
	}
	return err
}

// List implements [kvassigner.KV]. The leader of the stream lists the subjects, and returns the
// values one by one: a consumer may read from a replica that lags.
func (k *keys) List(ctx context.Context, prefix string) ([]kvassigner.Entry, error) {
	s, err := k.js.Stream(ctx, stream(k.bucket))
	if err != nil {
		return nil, err
	}
	before := subjects(k.bucket)
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(before+toSubject.Replace(prefix)+">"))
	if err != nil {
		return nil, err
	}
	found := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		found = append(found, toKey.Replace(strings.TrimPrefix(subject, before)))
	}
	return kvassigner.GetAll(ctx, found, k.Get)
}
