// Package etcdassigner keeps the leases of worker IDs in etcd 3.4 or later.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
//	…
//	numbers := assigner.Leased(etcdassigner.LeaseStore(client, "orders", etcdassigner.Config{}), assigner.LeaseConfig{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
//
// [SegmentSource] keeps counters of package segment. The package is a module of its own.
//
// etcd acknowledges a write when a majority of its members has it on disk, and every read of this
// package is confirmed by a majority. Grants are therefore [assigner.GuaranteeFenced]: wrong
// clocks, pauses and crashes cannot cause duplicate IDs.
//
// # Limits
//
//   - etcd does not report whether it was started with --unsafe-no-fsync. Do not use that flag: a
//     crash then loses acknowledged writes.
//   - etcd does not report its clock. The host of a holder sets the expiry of a row by its own
//     clock, and a host that looks for a worker ID compares the expiry with its own clock. If the
//     two clocks differ by a window or more, worker IDs are offered too late, or too early: then
//     their holders lose them and take others. No ID is issued twice. The store records the time of
//     the last write, and a host whose clock is behind that time by more than
//     [assigner.LeaseConfig.MaxSkew] gets [leasestore.ErrClockSkew]. A host whose clock is ahead
//     does not notice. Its writes stop the other hosts until its clock is right and it writes
//     again, or until an operator deletes uidring/seen/orders. Use NTP.
//
// etcd before 3.4.21 and 3.5.5 could lose acknowledged writes of a cluster with one member.
//
// # Restore
//
// Call [leasestore.Recover] after each restore of a snapshot, before any process starts. The
// store's identity is the ID of the cluster. A restore with another --initial-cluster-token or
// other peer addresses changes the ID, and claims are quarantined, see [assigner.ErrQuarantined]. A
// restore with the same token and addresses, a data folder that was put back, and
// --force-new-cluster keep the ID: claims cannot detect them, and without Recover the next holder
// repeats IDs.
//
// # Operation
//
// A renewal makes eight requests, two of them writes of small keys. etcd keeps old revisions until
// they are compacted: start it with --auto-compaction-retention. A row takes about 250 bytes. For
// claims see package kvassigner.
//
// With authentication, the user needs these permissions; the last one lets the process read the
// meta rows of other namespaces, to warn of one with the same layout, epoch and datacenter:
//
//	etcdctl role grant-permission ids readwrite uidring/meta/orders
//	etcdctl role grant-permission ids readwrite uidring/seen/orders
//	etcdctl role grant-permission ids --prefix=true readwrite uidring/worker/orders/
//	etcdctl role grant-permission ids --prefix=true read uidring/meta/
//	etcdctl role grant-permission ids --prefix=true readwrite uidring/segment/   # for SegmentSource
//
// The name of the namespace is in lower case in uidring/meta/, and unchanged in the other keys.
//
// A client with a user and a password needs etcd 3.5 or later: after a restart of a member of etcd
// 3.4 it would hang, so the store returns an error there. With etcd 3.4 use client certificates.
package etcdassigner
