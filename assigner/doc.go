// Package assigner finds worker IDs: the part of an ID that keeps two processes apart.
//
// Two generators with the same datacenter and worker ID produce the same IDs. Where the number
// comes from decides how far it can be trusted; [Guarantee] names the levels.
//
//   - [Static], [Env], [IPv4Suffix], [IPSum], [Hostname] and [StatefulSet] derive the number from
//     configuration or from the host and protect it within one process only.
//   - Package sqlassigner, below this one, takes numbers from a database that never come back, or
//     that stay with a key.
//   - [Leased], [Auto] and [Fenced] recycle numbers behind a fence in ID time, on a [Store], by
//     LeaseStore of package sqlassigner, redisassigner, etcdassigner or fileassigner. After a
//     restore of the store, see [Recover].
//
// To bring your own, implement [Assigner] and [Lease], or a [Store], and run the suite of package
// assignertest on it.
package assigner
