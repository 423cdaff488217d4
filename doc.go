// Package uidring issues 64-bit, positive, time-ordered unique IDs at high rates, without a call to
// a server for each ID.
//
//	sign  delta                          datacenter  worker              sequence
//	0     0000011010001111000101010010   00001       00000000000101010   0000000000111
//	1     28 bits: units since epoch     5           17: its maker       13: its number
//
// An ID holds the time at which it was made (delta, the number of units since the epoch; a unit is
// 1 s by default), its maker (datacenter and worker ID), and its number among the maker's IDs of
// that unit (sequence). The widths are configurable; see package bitsalloc.
//
// Where to look:
//
//   - [github.com/uidring/uidring/cached]: the generator to embed. IDs come from a ring that is
//     filled in the background; an ID costs about an atomic add.
//   - [github.com/uidring/uidring/defaultgen]: a generator that follows the clock, for moderate
//     rates and for IDs that must carry the time of the call.
//   - [github.com/uidring/uidring/backdate]: IDs of past instants, for rows that get IDs later.
//   - [github.com/uidring/uidring/segment]: dense numbers from a counter in a database;
//     [github.com/uidring/uidring/segment/segmenttest] tests a source of your own.
//   - [github.com/uidring/uidring/assigner]: the sources of worker IDs, and how far each can be
//     trusted. Its stores: [github.com/uidring/uidring/assigner/sqlassigner] for MySQL,
//     MariaDB, PostgreSQL and SQLite, with the tables in [github.com/uidring/uidring/schema];
//     [github.com/uidring/uidring/assigner/redisassigner],
//     [github.com/uidring/uidring/assigner/etcdassigner],
//     [github.com/uidring/uidring/assigner/zkassigner],
//     [github.com/uidring/uidring/assigner/natsassigner],
//     [github.com/uidring/uidring/assigner/dynamoassigner] and
//     [github.com/uidring/uidring/assigner/k8sassigner] for Kubernetes;
//     [github.com/uidring/uidring/assigner/fileassigner] for a folder, and
//     [github.com/uidring/uidring/assigner/remoteassigner] for an ID service.
//   - [github.com/uidring/uidring/assigner/kvassigner] makes a store of any database with
//     conditional writes, [github.com/uidring/uidring/assigner/leasestore] is the contract of
//     stores, and [github.com/uidring/uidring/assigner/assignertest] tests them.
//   - [github.com/uidring/uidring/bitsalloc]: packs and parses IDs.
//   - [github.com/uidring/uidring/publicid]: public faces of IDs, masked with a key, and IDs spread
//     over the ranges of a sharded database.
//   - [github.com/uidring/uidring/ringbuffer]: the lock-free ring by itself.
//   - [github.com/uidring/uidring/metrics]: Stats for monitoring, with
//     [github.com/uidring/uidring/metrics/prometheus] and
//     [github.com/uidring/uidring/metrics/otel].
//   - [github.com/uidring/uidring/vmclock]: notices that a copy of a virtual machine runs on.
//   - [github.com/uidring/uidring/uidringtest]: generators for tests of other programs.
//   - [github.com/uidring/uidring/client]: a client of the ID service, cmd/uidring.
//
// Generators return IDs as int64. The type [ID] of this package adds text forms: decimal, and two
// forms of fixed width that sort like the IDs, base32 in 13 characters and base62 in 11. In JSON an
// ID is a string, since a number would lose digits in JavaScript; in SQL it is a BIGINT.
//
// The benchmark is a program: go run ./bench.
package uidring
