package natsassigner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/leasestore"
)

// leastReplicas is the smallest number of replicas of a stream that is not lossy.
const leastReplicas = 3

// Status implements [kvassigner.KV]. The leader of the stream answers, by its own clock.
func (k *keys) Status(ctx context.Context) (leasestore.Status, error) {
	info := new(jetstream.StreamInfo)
	err := k.request(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		status, err := kv.Status(ctx)
		if bucket, ok := status.(*jetstream.KeyValueBucketStatus); ok {
			info = bucket.StreamInfo()
		}
		return err
	})
	if err != nil {
		return leasestore.Status{}, err
	}
	if info.TimeStamp.IsZero() {
		return leasestore.Status{}, errors.New("the server does not report its clock, allowed: NATS 2.10 or later")
	}
	return leasestore.Status{
		Now:      info.TimeStamp,
		Identity: fmt.Sprintf("stream %.50s created %s", info.Config.Name, info.Created.UTC().Format(time.RFC3339Nano)),
		Faults:   k.faults(info.Config),
		Lossy:    !k.cfg.SyncAlways || info.Config.Replicas < leastReplicas,
	}, nil
}

// faults names the settings that lose acknowledged writes, or let a read miss one.
func (k *keys) faults(c jetstream.StreamConfig) (faults []string) {
	for _, f := range []struct {
		found bool
		text  string
	}{
		{!k.cfg.SyncAlways, "sync_interval is not known: a server with the default forgets acknowledged writes of two minutes when its host crashes; " +
			"run all servers with jetstream { sync_interval: always }, then set Config.SyncAlways, or sync=always in the URL of the command"},
		{c.AllowDirect, "allow_direct is on, so that a replica which lags may answer reads: nats stream edit " + c.Name + " --no-allow-direct"},
		{c.Storage != jetstream.FileStorage, "storage is memory: create the stream with storage file"},
		{c.PersistMode != jetstream.DefaultPersistMode, "persist_mode is async, so that writes are acknowledged before they are on disk: create the stream without it"},
		{c.MaxAge > 0, fmt.Sprintf("max_age %v deletes rows: set it to 0", c.MaxAge)},
		{c.Discard == jetstream.DiscardOld && (c.MaxMsgs > 0 || c.MaxBytes > 0), "discard old deletes rows when max_msgs or max_bytes is reached: set discard to new"},
		{c.Retention != jetstream.LimitsPolicy, fmt.Sprintf("retention %v deletes rows that a consumer has read: create the stream with limits", c.Retention)},
		{c.Mirror != nil || len(c.Sources) > 0, "the stream is a copy of another one: use the origin"},
		{c.NoAck, "no_ack is on, so that writes are not acknowledged: set it to false"},
	} {
		if f.found {
			faults = append(faults, f.text)
		}
	}
	return faults
}
