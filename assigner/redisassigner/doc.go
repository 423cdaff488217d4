// Package redisassigner keeps the leases of worker IDs in Redis 5 or later, or Valkey.
//
//	client := redis.NewClient(&redis.Options{Addr: "redis:6379", ContextTimeoutEnabled: true})
//	numbers := assigner.Leased(redisassigner.LeaseStore(client, "orders"), assigner.LeaseConfig{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
//
// It is a module of its own, so that the client stays out of the library's dependencies. Where
// there is a database, etcd or a disk that keeps what it acknowledges, take leases from there:
// Redis may forget, and then clocks are all that is left.
//
// # What lossy means
//
// Redis acknowledges a write before its replicas have it, and most servers before their disk has
// it. After a failover or a crash it may have forgotten who holds which worker ID, up to which
// time. The store says so: Lossy is true whatever the settings are, and grants are
// [assigner.GuaranteeLossy]. Leases on such a store keep to these rules:
//
//   - A grant never reaches further than a window ([assigner.LeaseConfig.Window]) beyond the
//     server's clock.
//   - A lease that was not renewed for a window is lost.
//   - A claim grants nothing until a window and MaxSkew have passed. By then all deltas are past
//     that the server may have forgotten, and the new holder begins above them.
//
// No ID is repeated as long as
//
//   - all processes of a namespace use the same Window and the same MaxSkew;
//   - the server's clock does not go back by more than MaxSkew; a failover to a server whose clock
//     is slower counts;
//   - the clock of each process agrees with the server's to MaxSkew. That is checked at every claim
//     and renewal;
//   - a primary that was replaced takes no more writes: with Sentinel or Cluster, set
//     min-replicas-to-write to 1 or more, and min-replicas-max-lag to less than MaxSkew.
//
// Pauses, crashes, late messages and lost commits do no harm then, and a holder whose row has
// changed or vanished notices at its next renewal: [assigner.ErrFenceRegressed],
// [assigner.ErrWorkerRowMissing], [assigner.ErrNamespaceRecreated], each with
// [assigner.ErrWorkerRowLost].
//
// The price:
//
//   - A start takes Window and MaxSkew, a minute and a half by default, and so does a new worker ID
//     after one was lost. Use NewContext, with a context that lasts longer; New fails with
//     [assigner.ErrQuarantined].
//   - A generator cannot run ahead of the server's clock by more than a window. Over a longer time
//     it issues as many IDs as the layout has for that time, 8,192 a second with the default one,
//     plus those of one window.
//   - The store may be out of reach for less than a window only.
//
// # Durability
//
// Quarantine keeps IDs apart; durability spares every holder the loss of its worker ID, and another
// quarantine, when the server restarts. These settings are faults, which leases refuse with
// [assigner.ErrStoreNotDurable] unless [assigner.LeaseConfig.AllowUndurable] is set:
//
//   - appendonly is no, the default of Redis.
//   - appendfsync is not always. The default, everysec, loses the last second or two when the host
//     crashes.
//   - no-appendfsync-on-rewrite is yes.
//   - maxmemory is set, and maxmemory-policy is one of allkeys-*, which delete keys that never
//     expire.
//   - CONFIG GET is denied, as managed services do: then appendfsync is unknown.
//
// A replica is an error. Sentinel and Cluster work; a namespace lies on one server.
//
// # Access
//
// The user needs these rights, shown for the namespace orders and Redis 7:
//
//	ACL SETUSER ids on >secret ~uidring:orders ~{uidring:orders}:expiry ~{uidring}:namespaces
//	  %R~uidring:* +eval +evalsha +time +info +config|get +hget +hset +hsetnx +hgetall +hlen +hscan
//	  +zadd +zrem +zcard +zrangebyscore
//
// and +cluster|slots for a cluster. %R~uidring:* lets the process read the meta rows of other
// namespaces, to warn of one with the same layout, epoch and datacenter. Redis 6 has no rights to
// read alone: there, ~uidring:* takes the place of the first key and of this one.
//
// # Size
//
// A row takes about 330 bytes. A claim reads 256 expired rows at most, those that expired first,
// about 60 KB: with 1,000,000 rows it took 10 ms, on the two cores of a virtual machine. Only
// [assigner.Recover] and tools for operators read all rows at once: 1,000,000 rows took 9 s. During
// a part of that time the server answers no other client, and the client's ReadTimeout has to allow
// it.
//
// Where the sorted set of expiries was lost, the next claim writes it anew, in pages of 1,000 rows:
// 1,000,000 rows took 17 s, during which the server answers others.
package redisassigner
