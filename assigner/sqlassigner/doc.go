// Package sqlassigner takes worker IDs from a database: MySQL, MariaDB, PostgreSQL or SQLite.
//
//	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db:3306)/ids")
//	…
//	ids, err := cached.New(cached.Config{Layout: bitsalloc.Recommended(), Assigner: sqlassigner.Leased(db, "orders")})
//
// [Leased] leases worker IDs, which are reused and whose holders a fence keeps apart. The first
// start creates the tables. [LeaseStore] is the store below it, for assigner.Leased,
// assigner.Auto and assigner.Fenced with other settings.
//
// [Disposable] gives every start of a process a worker ID that was never given out before. [Sticky]
// gives a service key the same worker ID at each start. Both take them from the table WORKER_NODE.
// [SegmentSource], [LeafSource] and [TinyIDSource] keep counters of package segment. [Apply], or
// uidring schema, creates the tables of these.
//
// Java services that use Baidu's UidGenerator may share WORKER_NODE if their epoch, unit and bit
// widths are the same. [Pin] or the first Go process records these, and later processes with other
// values get [assigner.ErrLayoutMismatch]. The datacenter ID is not recorded: worker IDs are unique
// in the whole table. If the database has lease namespaces, too, WORKER_NODE has the worker IDs
// below assigner.LeaseConfig.FirstWorkerID, and each namespace has the worker IDs from there up.
// Each side rejects worker IDs of the other side with [leasestore.ErrOverlap].
//
// # Databases
//
// The dialect follows from the driver name of the handle: mysql; sqlite or sqlite3; pgx or
// postgres. With github.com/jackc/pgx/v5/stdlib, or with modernc.org/sqlite imported:
//
//	db, err := sqlx.Open("pgx", "postgres://ids:secret@db:5432/ids")
//	db, err := sqlx.Open("sqlite", "file:ids.db?_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)")
//
// [Wrap] takes a handle of database/sql with any other name. This package links go-sql-driver/mysql
// only; the caller imports other drivers. The package neither closes the handle nor changes its
// settings. A start, a renewal or a close uses one connection, and gives it back while it waits.
//
// Before the first rows are read or written on a connection, a call checks that it is not inside a
// transaction and that autocommit is on: other connections would not see the changes. Otherwise the
// call returns [leasestore.ErrNotDurable], also with AllowUndurable, and leaves the transaction
// open.
//
// # Tables
//
// All processes must use the same tables. MySQL on Linux distinguishes worker_node from
// WORKER_NODE; PostgreSQL distinguishes quoted from unquoted names, and tables of different
// schemas. [Apply] and each start therefore look for tables whose names differ only in letter case
// or, within the search path, in schema, and return [ErrTableTwin] if they find one.
//
// In PostgreSQL and SQLite each statement on leases and segments names the schema, so a TEMPORARY
// table is never used. PostgreSQL has one store in each schema: a store uses the first schema of
// the search path in which it found the table first, and logs a warning when it creates tables or a
// namespace while other schemas have such tables. In MySQL and MariaDB a TEMPORARY table that hides
// a table is rejected before the first write on a connection.
//
// MySQL and MariaDB must have exactly the primary keys of package schema for leases and segments;
// in the other databases the statements rely on the key themselves.
//
// # Durability
//
// A database that forgets a commit gives out the same worker ID again. Before it takes a worker ID,
// the assigner checks the settings below on one connection. Give all connections of the handle the
// same ones, in the URL or on the server: Exec changes a setting on a single connection of the
// pool.
//
//   - MySQL, MariaDB: innodb_flush_log_at_trx_commit is 1; sync_binlog is 1 where log_bin is on
//     (MariaDB's default is 0 even then); the tables' engine is InnoDB; read_only is off, and with
//     it super_read_only; transactions are not read-only; no replication from another server is
//     running, which MySQL shows only to users with SELECT on
//     performance_schema.replication_applier_status; wsrep_on is off, since Galera may lose
//     acknowledged writes; group_replication_single_primary_mode is on in a group of Group
//     Replication, since a claim may read stale rows on a second primary.
//   - PostgreSQL: synchronous_commit is not off; fsync is on; the tables are ordinary permanent
//     tables, not views, partitioned, foreign or UNLOGGED tables; the server is not in recovery and
//     transactions are not read-only.
//   - SQLite: PRAGMA synchronous is EXTRA or, unless PRAGMA journal_mode is DELETE, FULL;
//     journal_mode is neither MEMORY nor OFF, which excludes databases in memory; PRAGMA query_only
//     is off. SQLite's defaults, DELETE and FULL, do not pass: a power cut may undo the last
//     commit. Drivers accept settings in the file name, such as
//     worker.db?_pragma=synchronous(EXTRA) in modernc.org/sqlite. On Linux, the file must be on a
//     local disk, not on a network file system or in memory. It must have one path: no second hard
//     link and, on Linux, no mount of the file alone, since each path has a write-ahead log of its
//     own. Mount the folder, not the file.
//
// A setting that does not pass is rejected with [leasestore.ErrNotDurable], or logged as a warning
// with Config.AllowUndurable. A renewal checks the settings, too: with sync_binlog=0 for an import,
// running processes have IDs until their leases end. The check cannot detect a disk that loses
// writes, a replica that was promoted too early, or a restore from a backup. After such a loss, and
// before any process starts, raise the next ID of WORKER_NODE above the largest worker ID ever
// given out, and raise the fences of each namespace with [leasestore.Recover].
//
// # SQLite files
//
// Use PRAGMA journal_mode=WAL for a file that many processes share: a commit then syncs once
// instead of three or four times, and readers do not wait for it. A statement waits for a lock for
// 250 ms, or for the busy_timeout of the handle, and is retried until its context ends.
//
// Two files give out the same worker IDs, and so does a copy of a file. [LeaseStore] identifies a
// file by device, inode and, on Linux, time of birth, and quarantines the worker IDs of a copy. The
// quarantine covers grants of the original before the copy was taken into use, but not later ones:
// never use both. LeaseStore does not detect a clone of the whole disk, nor a backup that is
// written into the file itself; run [leasestore.Recover] after those. If the file is moved,
// replaced or deleted while it is open, claims and renewals fail with [leasestore.ErrDamaged]. When
// the device number of the disk changes, as for a volume that moves to another host, worker IDs are
// quarantined, too.
//
// Do not turn locks off, by nolock=1 or vfs=unix-none: processes then get the same worker IDs and
// ranges, and no fault tells.
//
// # Failures
//
// After a deadlock, a timeout of a lock or a statement, or a lost connection, and while a server
// restarts or is read-only during a failover, calls retry with random, growing pauses until the
// context ends; without a deadline they retry for ten seconds. Every error names the remedy. No
// error contains a password.
//
// A NAT or a load balancer may forget connections that wait in a pool. A call drops a connection of
// the pool that does not answer within two seconds, two connections at most, and waits for the next
// one until its context ends. A pool that keeps more than two idle connections needs several calls
// to get rid of all. SetConnMaxIdleTime of database/sql, with a minute, keeps their number low.
package sqlassigner
