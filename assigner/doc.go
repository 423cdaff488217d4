// Package assigner provides worker IDs, the field of an ID that tells processes apart.
//
// Two generators with the same datacenter and worker ID produce the same IDs. The source of the
// worker ID decides how far it can be trusted; [Guarantee] names the levels.
//
//   - [Static], [Env], [IPv4Suffix], [IPSum], [Hostname] and [StatefulSet] derive the worker ID
//     from configuration or from the host and protect it within one process only.
//   - Package sqlassigner, below this one, takes worker IDs from a database: Disposable ones are
//     never reused, Sticky ones stay with a key.
//   - [Leased], [Auto] and [Fenced] lease worker IDs from a [leasestore.Store] and reuse them
//     safely. The fence of a worker ID is the highest delta (unit of ID time since the epoch)
//     that its holder may use, or that earlier ones have used; the next holder starts above it.
//     LeaseStore of package sqlassigner, fileassigner, redisassigner, etcdassigner, zkassigner,
//     natsassigner, dynamoassigner and k8sassigner returns a Store, and LeaseStore of package
//     remoteassigner the Store of a server. After a restore of the store, see
//     [leasestore.Recover].
//
// To use another source, implement [Assigner] and [Lease], or a [leasestore.Store], and run the
// conformance suite of package assignertest. Package kvassigner makes a Store of any store of keys
// and values that can put a key if its revision matches.
package assigner
