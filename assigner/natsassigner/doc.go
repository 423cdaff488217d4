// Package natsassigner keeps the leases of worker IDs in a key-value bucket of NATS JetStream 2.10
// or later. It is a module of its own.
//
//	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort()) // never gives up
//	…
//	stream, err := js.CreateOrUpdateStream(ctx, natsassigner.StreamConfig("uidring", 3)) // once
//	…
//	leases := natsassigner.LeaseStore(js, "uidring", "orders", natsassigner.Config{SyncAlways: true})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(leases, assigner.LeaseConfig{})})
//
// A write states the sequence number of the last message of its key, which the leader of the stream
// compares. It is acknowledged by a majority of the replicas. With three replicas and the settings
// below, grants are [assigner.GuaranteeFenced]: wrong clocks, pauses and crashes cannot cause
// duplicate IDs.
//
// With fewer than three replicas, or without [Config.SyncAlways], the store is lossy: each claim is
// quarantined for 3 min by default, and safety depends on clocks, see package redisassigner. Jepsen
// (https://jepsen.io/analyses/nats-2.12.1, December 2025) lost acknowledged writes of NATS 2.12.1
// with the default sync_interval, and saw replicas that disagreed for good after damage to the
// files of a minority. The conditions are therefore: three replicas or more, sync_interval: always
// on every server, and disks that do not damage files.
//
// # Settings
//
// Run each server with
//
//	jetstream { store_dir: /var/lib/nats, sync_interval: always }
//
// and set [Config.SyncAlways]: the API of JetStream does not report sync_interval. With the default
// of two minutes, a server acknowledges writes that are not on disk. If its host crashes, a single
// server loses them; so may a cluster, even if the other hosts stay up. Each claim and each renewal
// checks the stream, and fails with [leasestore.ErrNotDurable] if
//
//   - allow_direct is on, as in all buckets that were created by nats kv add or CreateKeyValue: any
//     replica would answer reads. [StreamConfig] has it off; turn it off in an existing bucket with
//     nats stream edit KV_uidring --no-allow-direct;
//   - rows may be lost or deleted: by storage in memory, by persist_mode async, by no_ack, by
//     max_age, by max_msgs or max_bytes with discard old, or by a retention other than limits;
//   - the stream is a mirror or has sources.
//
// # Limits
//
//   - A leader that was cut off from the other servers may answer reads for about ten seconds. It
//     cannot acknowledge writes, and a row that was read from it cannot be swapped. But a holder
//     that reads its row there may report [leasestore.ErrFenceRegressed] and take another worker
//     ID, and a [leasestore.Horizon] that lists rows there may be too high.
//   - A server that finds damaged records at its start drops them and does not report it. Leases
//     whose rows are gone end with [leasestore.ErrRowMissing].
//   - A purge deletes rows, and the next holder shares deltas with a live one. For a stream of
//     [StreamConfig] the server refuses it. A bucket that was created in another way allows it,
//     without a fault: CreateOrUpdateStream changes its stream.
//   - A write whose context ends while the connection is down may be sent later. It then states an
//     old sequence number, or takes effect as a write without an answer does.
//
// # Restore
//
// The store's identity is the time at which its stream was created. It changes when a stream is
// created anew and filled with a copy of the keys; claims are then quarantined, see
// [assigner.ErrQuarantined]. It does not change when nats stream restore or an older data folder is
// used: claims cannot detect these losses. Call [leasestore.Recover] after them, before any process
// starts.
//
// # Operation
//
// The leader reports its clock, and rows expire by it. A renewal makes four requests: the status
// twice, a read and a write. A claim lists subjects and reads their rows in parallel, see package
// kvassigner. A row takes about 500 bytes.
//
// A user needs these permissions; replies arrive at _INBOX.> or a prefix of your own:
//
//	publish: [ "$JS.API.STREAM.INFO.KV_uidring", "$JS.API.STREAM.MSG.GET.KV_uidring", "$KV.uidring.>" ]
//	subscribe: [ "_INBOX.>" ]
//
// Experimental: this package may still change. See docs/STABILITY.md.
package natsassigner
