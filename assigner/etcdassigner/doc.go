// Package etcdassigner keeps the leases of worker IDs in etcd 3.4 or later.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
//	…
//	numbers := assigner.Leased(etcdassigner.Leases(client, "orders"), assigner.LeaseConfig{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
//
// It is a module of its own, so that the client stays out of the library's dependencies.
//
// etcd acknowledges a write when a majority of its members has it on disk, and every read here is one that a majority
// confirms. So grants are [assigner.GuaranteeFenced]: no ID is repeated whatever clocks, pauses and crashes do.
//
// # What etcd does not tell
//
//   - Whether it was started with --unsafe-no-fsync. Do not: a crash then loses what was acknowledged.
//   - Its clock. Expiry is reckoned by the clock of the host that holds the lease, and read by that of the host that
//     looks for a worker ID. Where these differ by a window or more, worker IDs are offered too early, and their holders
//     lose them and take others; or too late. No ID is repeated. [assigner.ErrClockSkew] cannot be found
//     out: a host whose clock is ahead by less than [assigner.LeaseConfig.MaxLead] leaves a fence behind from which its successor
//     goes on, ahead of the clock as well. Let NTP watch the clocks.
//
// Releases before 3.4.21 and 3.5.5 could lose acknowledged writes of a cluster of one member.
//
// # Restore
//
// The store's identity is the ID of the cluster. It stays when members come and go, and is another one where a
// snapshot is restored with another --initial-cluster-token or other peer addresses: then a claim is quarantined, see
// [assigner.ErrQuarantined]. A snapshot restored with the same ones, a data folder put back, and --force-new-cluster keep the
// ID, and newcomers cannot see that writes were lost. Give each restore another token, and call
// [assigner.Recover] before any process starts.
//
// # Operation
//
// Each renewal writes one key, and etcd keeps old revisions until they are compacted: start it with
// --auto-compaction-retention. A row takes about 250 bytes; a claim reads all rows, 1,000 at a time.
//
// With authentication, the user needs readwrite permission on the prefix:
//
//	etcdctl role grant-permission ids --prefix=true readwrite uidring/orders/
package etcdassigner
