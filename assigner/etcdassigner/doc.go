// Package etcdassigner keeps the leases of worker IDs in etcd 3.4 or later.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
//	…
//	numbers := assigner.Leased(etcdassigner.LeaseStore(client, "orders"), assigner.LeaseConfig{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
//
// It is a module of its own, so that the client stays out of the library's dependencies.
//
// etcd acknowledges a write when a majority of its members has it on disk, and every read here is
// one that a majority confirms. So grants are [assigner.GuaranteeFenced]: no ID is repeated
// whatever clocks, pauses and crashes do.
//
// # What etcd does not tell
//
//   - Whether it was started with --unsafe-no-fsync. Do not: a crash then loses what was
//     acknowledged.
//   - Its clock. The host of a holder sets the expiry of a row by its own clock, and the host that
//     looks for a worker ID compares it with its own. Where the two differ by a window or more,
//     worker IDs are offered too early, and their holders lose them and take others; or too late.
//     No ID is repeated. The store keeps the time of the last write, so that a clock that is behind
//     it by more than [assigner.LeaseConfig.MaxSkew] is noticed: [assigner.ErrClockSkew]. A clock
//     that is ahead is not noticed on its own host. Its writes stop the other hosts until the clock
//     is right again and its host writes once more, or an operator deletes uidring/seen/orders. Let
//     NTP keep the clocks.
//
// Releases before 3.4.21 and 3.5.5 could lose acknowledged writes of a cluster of one member.
//
// # Restore
//
// The store's identity is the ID of the cluster. It stays when members come and go, and is another
// one where a snapshot is restored with another --initial-cluster-token or other peer addresses:
// then a claim is quarantined, see [assigner.ErrQuarantined]. A snapshot restored with the same
// ones, a data folder put back, and --force-new-cluster keep the ID, and newcomers cannot see that
// writes were lost. Give each restore another token, and call [assigner.Recover] before any process
// starts.
//
// # Operation
//
// Each renewal writes two small keys in one transaction, and etcd keeps old revisions until they
// are compacted: start it with --auto-compaction-retention. A row takes about 250 bytes.
//
// A claim reads rows from a random one onwards until 256 have expired, 256 in the first page and
// 1,000 in each page after that. etcd has no index of expiries, so the claim reads many rows where
// few are free, and all rows where none is. On two cores of a virtual machine, a claim of 131,072
// rows took 20 ms where all were free, 0.8 s where 1 in 100 was, and 2 s where all were held.
//
// With authentication, the user needs these permissions; the last one lets the process read the
// meta rows of other namespaces, to warn of one with the same layout, epoch and datacenter:
//
//	etcdctl role grant-permission ids readwrite uidring/meta/orders
//	etcdctl role grant-permission ids readwrite uidring/seen/orders
//	etcdctl role grant-permission ids --prefix=true readwrite uidring/worker/orders/
//	etcdctl role grant-permission ids --prefix=true read uidring/meta/
//
// The name is in lower case in uidring/meta/, and as it is in the other keys.
package etcdassigner
