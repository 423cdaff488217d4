package natsassigner

import (
	"errors"
	"fmt"
	"regexp"

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
// and reads them from the leader. Create the stream once:
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
		AllowRollup:       true,
		DenyDelete:        true,
	}
}

func stream(bucket string) string { return "KV_" + bucket }

// subjects is the prefix of the subjects of all keys.
func subjects(bucket string) string { return "$KV." + bucket + "." }
