package natsassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// A Config asserts settings that the servers of NATS do not report.
type Config struct {
	// SyncAlways asserts that every server which keeps the bucket runs with sync_interval: always
	// in the jetstream block of its configuration. The default, two minutes, lets a server forget
	// writes that it has acknowledged. Only users of the system account can read the setting: if
	// SyncAlways is false, the store is lossy, and Status reports a fault, so that claims fail with
	// [leasestore.ErrNotDurable].
	SyncAlways bool
}

var bucketName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// LeaseStore returns the store of a namespace in a key-value bucket, see [kvassigner.LeaseStore].
// The bucket exists: create its stream with [StreamConfig]. A bucket holds any number of
// namespaces, and no keys of other programs. The keys are, with = in place of the dots of the name,
//
//   - meta.orders, the meta row; the name is in lower case here;
//   - worker.orders.0000000000000004.007, the row of worker 4,007.
//
// The keys are never deleted. The store returns an error when a write may have taken effect. A
// request ends with its context or its connection, or after three seconds. The caller closes the
// connection.
func LeaseStore(js jetstream.JetStream, bucket, namespace string, cfg Config) leasestore.Store {
	return kvassigner.LeaseStore(&keys{js: js, bucket: bucket, cfg: cfg}, namespace, kvassigner.Config{})
}

func (k *keys) Check(string) error {
	var errs []error
	if k.js == nil {
		errs = append(errs, errors.New("natsassigner: js is required"))
	}
	if !bucketName.MatchString(k.bucket) {
		errs = append(errs, fmt.Errorf("natsassigner: bucket %q, allowed: one or more of the characters a-z A-Z 0-9 _ -", k.bucket))
	}
	return errors.Join(errs...)
}

// StreamConfig returns the configuration of the stream of a bucket that keeps all rows, on disk,
// and reads them from the leader. Its server refuses to purge it or to delete messages. Create the
// stream once:
//
//	stream, err := js.CreateOrUpdateStream(ctx, natsassigner.StreamConfig("uidring", 3))
//
// A cluster has 3 or 5 replicas. A single server has 1: the store is then lossy.
func StreamConfig(bucket string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              stream(bucket),
		Subjects:          []string{subjects(bucket) + ">"},
		Description:       "worker IDs of uidring",
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		Discard:           jetstream.DiscardNew,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxConsumers:      -1,
		DenyDelete:        true,
		DenyPurge:         true,
	}
}

func stream(bucket string) string { return "KV_" + bucket }

// subjects is the prefix of the subjects of all keys.
func subjects(bucket string) string { return "$KV." + bucket + "." }

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
	before := k.js.Conn().LastError()
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
	cause := context.Cause(ctx)
	if err == nil || cause == nil {
		return advise(err)
	}
	if refusal := k.js.Conn().LastError(); refusal != before && k.refuses(refusal) {
		return fmt.Errorf("%w; a user needs these permissions: publish to $JS.API.STREAM.INFO.%[2]s, $JS.API.STREAM.MSG.GET.%[2]s and %[3]s>, subscribe to %[4]s.>",
			refusal, stream(k.bucket), subjects(k.bucket), k.inbox())
	}
	if cause == errBroken || cause == errNoAnswer {
		return cause
	}
	return err
}

// advise adds the remedy to an error.
func advise(err error) error {
	remedy := ""
	answer, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
		remedy = "the client was closed, or has given up: restart the process, and connect with nats.MaxReconnects(-1) and nats.IgnoreAuthErrorAbort()"
	case answer != nil && answer.ErrorCode == 10077: // the stream is full
		remedy = "raise max_bytes and max_msgs of the stream, or free the disk of its servers"
	case answer != nil && answer.ErrorCode == 10054: // the message is too large
		remedy = "set max_msg_size of the stream to -1"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}

// refuses reports whether an error of the connection is about a subject of the bucket, or of
// answers. The server does not answer a request that it refuses, and the client keeps the error.
func (k *keys) refuses(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && slices.ContainsFunc([]string{stream(k.bucket) + `"`, subjects(k.bucket), `"` + k.inbox()},
		func(subject string) bool { return strings.Contains(err.Error(), subject) })
}

func (k *keys) inbox() string { return cmp.Or(k.js.Conn().Opts.InboxPrefix, "_INBOX") }

// Passes reports errors while no server answers, or the stream has no leader.
func (k *keys) Passes(err error) bool {
	answer, ok := errors.AsType[*jetstream.APIError](err)
	return ok && answer.Code >= http.StatusInternalServerError || slices.ContainsFunc([]error{errBroken, errNoAnswer, nats.ErrNoResponders,
		nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse}, func(passing error) bool { return errors.Is(err, passing) })
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
		sequence, _ := strconv.ParseUint(revision, 10, 64) // a result of Get
		_, err := kv.Update(ctx, toSubject.Replace(key), value, sequence)
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
