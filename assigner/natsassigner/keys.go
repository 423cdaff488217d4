package natsassigner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
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

// String names the store in errors and log records.
func (k *keys) String() string {
	return "bucket " + k.bucket + " of NATS at " + strings.Join(k.js.Conn().Servers(), ", ")
}

// A slash would make a key one token of its subject, and filters match whole tokens.
var (
	toSubject = strings.NewReplacer("/", ".", ".", "=")
	toKey     = strings.NewReplacer(".", "/", "=", ".")
)

// longest is the time after which a request without an answer ends. No server answers a request
// that arrived while the stream had no leader.
const longest = 3 * time.Second

var (
	errBroken   = errors.New("the connection to NATS ended before the answer")
	errNoAnswer = fmt.Errorf("no server of NATS has answered within %v", longest)
)

// request calls f with the bucket, and ends the call with the connection: the client would go on
// waiting for an answer that cannot come.
func (k *keys) request(ctx context.Context, f func(context.Context, jetstream.KeyValue) error) error {
	ctx, stop := context.WithTimeoutCause(ctx, longest, errNoAnswer)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	broken := k.js.Conn().StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer k.js.Conn().RemoveStatusListener(broken)
	go func() {
		select {
		case <-broken:
			cancel(errBroken)
		case <-ctx.Done():
		}
	}()
	kv, err := k.kv(ctx)
	if err == nil {
		err = f(ctx, kv)
	}
	if cause := context.Cause(ctx); err != nil && (cause == errBroken || cause == errNoAnswer) {
		return cause
	}
	return err
}

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

func (k *keys) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	err = k.request(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		entry, err := kv.Get(ctx, toSubject.Replace(key))
		if err == nil {
			value, revision = entry.Value(), strconv.FormatUint(entry.Revision(), 10)
		}
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, "", nil
	}
	return value, revision, err
}

// Put implements [kvassigner.KV]. The revision is the sequence number of the last message of the
// key, which the leader compares. Create also replaces the marker of a deleted key.
func (k *keys) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	err := k.request(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		if revision == "" {
			_, err := kv.Create(ctx, toSubject.Replace(key), value)
			return err
		}
		sequence, err := strconv.ParseUint(revision, 10, 64)
		if err == nil {
			_, err = kv.Update(ctx, toSubject.Replace(key), value, sequence)
		}
		return err
	})
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return false, nil
	}
	return err == nil, err
}

// List implements [kvassigner.KV]. The leader of the stream lists the subjects, and returns the
// values one by one: a consumer may read from a replica that lags.
func (k *keys) List(ctx context.Context, prefix string) ([]kvassigner.Entry, error) {
	before := subjects(k.bucket)
	var found []string
	err := k.request(ctx, func(ctx context.Context, _ jetstream.KeyValue) error {
		s, err := k.js.Stream(ctx, stream(k.bucket))
		if err != nil {
			return err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(before+toSubject.Replace(prefix)+">"))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects {
			found = append(found, toKey.Replace(strings.TrimPrefix(subject, before)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kvassigner.GetAll(ctx, found, k.Get)
}
