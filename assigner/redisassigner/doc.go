// Package redisassigner keeps the leases of worker IDs in Redis 5 or later, or Valkey.
//
//	client := redis.NewClient(&redis.Options{Addr: "redis:6379", ContextTimeoutEnabled: true})
//	numbers := assigner.Leased(redisassigner.LeaseStore(client, "orders", redisassigner.Config{}), assigner.LeaseConfig{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
//
// [SegmentSource] keeps counters of package segment. The package is a module of its own.
//
// Prefer leases from a database, etcd or a local disk if you have one: Redis may lose acknowledged
// writes, and uniqueness then depends on clocks.
//
// # Lossy store
//
// Redis acknowledges a write before its replicas have it and, with most settings, before it is on
// disk. After a failover or a crash it may have forgotten holders and fences. Status therefore
// always has Lossy set, and grants are [assigner.GuaranteeLossy]. Leases on a lossy store follow
// these rules:
//
//   - A grant never reaches further than a window ([assigner.LeaseConfig.Window]) beyond the
//     server's clock.
//   - A lease that was not renewed for a window and a half is lost.
//   - A claim is quarantined for a window and MaxSkew before the holder may use any delta. After
//     that time all deltas that the server may have forgotten lie in the past, and the new holder
//     starts above them.
//
// No ID is repeated as long as
//
//   - all processes of a namespace use the same Window and the same MaxSkew;
//   - the server's clock does not go back by more than MaxSkew; a failover to a server whose clock
//     is slower counts;
//   - the clock of each process agrees with the server's to MaxSkew. Every claim and renewal checks
//     this;
//   - a primary that was replaced takes no more writes: with Sentinel or Cluster, set
//     min-replicas-to-write to 1 or more, and min-replicas-max-lag to less than MaxSkew.
//
// Pauses, crashes, late messages and lost commits then cause no duplicate IDs. A holder whose row
// has changed or vanished gets [assigner.ErrWorkerRowLost] at its next renewal.
//
// The costs:
//
//   - A start takes Window plus MaxSkew, 3 min by default, and so does taking another worker ID
//     after one was lost. Fenced first waits until the lease of a killed process has expired, two
//     windows after its last renewal, or more if it was in quarantine. Use NewContext, with a
//     context that lasts longer; New fails with [assigner.ErrQuarantined].
//   - A generator cannot run ahead of the server's clock by more than a window. Over a longer time
//     it issues as many IDs as the layout has for that time, 8,192 a second by default, plus the
//     IDs of one window.
//   - The store may be unreachable for less than a window only.
//
// # Durability
//
// Quarantine keeps IDs unique. Durable settings avoid that every holder loses its worker ID, and
// waits for another quarantine, when the server restarts. These settings are faults, which leases
// reject with [leasestore.ErrNotDurable] unless [assigner.LeaseConfig.AllowUndurable] is set:
//
//   - appendonly is no, the default.
//   - appendfsync is not always. The default, everysec, loses the last second or two when the host
//     crashes.
//   - no-appendfsync-on-rewrite is yes.
//   - maxmemory is set, and maxmemory-policy is one of allkeys-*, which delete keys that never
//     expire.
//   - A replica is connected, and min-replicas-to-write is 0, the default, or min-replicas-max-lag
//     is.
//   - CONFIG GET is denied, as in managed services, so that appendfsync is unknown.
//
// Connecting to a replica is an error. Sentinel and Cluster are supported; a namespace is on one
// server. A test has Sentinel replace a primary that was killed before its replica had the last
// renewals: the generators go on and issue no ID twice.
//
// # Access
//
// The user needs these rights, shown for the namespace orders:
//
//	ACL SETUSER ids on >secret ~{uidring}:meta ~{uidring}:worker/orders*
//	  +eval +time +info +config|get +hget +hset +hgetall +sadd +smembers
//
// and +cluster|slots for a cluster. The meta rows of all namespaces share a key, so that a process
// warns of another namespace with the same layout, epoch and datacenter.
//
// [SegmentSource] needs ~{uidring}:segment +eval +hget +time +info +config|get.
//
// A renewal makes four requests. A row takes about 350 bytes. For claims see package kvassigner.
package redisassigner
