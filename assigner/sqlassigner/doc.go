// Package sqlassigner takes worker IDs from a database: MySQL or MariaDB, PostgreSQL, SQLite.
//
//	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db:3306)/ids")
//	…
//	err = sqlassigner.Apply(ctx, db, sqlassigner.Config{})            // or: mysql ids < schema/worker_node.sql
//	numbers := sqlassigner.Disposable(db, sqlassigner.Config{})       // an assigner.Assigner
//
// [Disposable] gives every start of a process a number that was never given out before. [Sticky]
// gives a service key the same number again after each restart. [LeaseStore] is the store for
// assigner.Leased, assigner.Auto and assigner.Fenced, which recycle numbers behind a fence.
//
// The first two draw their numbers from the table WORKER_NODE and may be used side by side; Java
// services that use Baidu's UidGenerator may write to the same table if they use the same epoch,
// unit and bit widths. The first use pins those for our side, and a generator that composes its IDs
// otherwise is refused with [assigner.ErrLayoutMismatch]. The datacenter is not pinned: the numbers
// are unique over the whole table. Beside leases of the same database, WORKER_NODE has the worker
// IDs below assigner.LeaseConfig.FirstWorkerID of every namespace, and a namespace those from there
// up; each side refuses with [assigner.ErrWorkerOverlap] what belongs to the other one.
//
// # Databases
//
// The dialect follows from the driver name of the handle: mysql; sqlite or sqlite3; pgx or
// postgres. This package links go-sql-driver/mysql only, the other drivers are the caller's to
// import. The handle stays its owner's: nothing here closes it or changes its settings. Each call
// holds one connection of it while it lasts.
//
// Each call that reads or writes rows checks first that its connection is not inside a transaction,
// of which other connections see nothing, and that autocommit is on. It refuses such a connection
// with [assigner.ErrStoreNotDurable], also with AllowUndurable, and leaves the transaction to its
// owner. The check needs no rights: MariaDB has the variable in_transaction;
// MySQL from 5.7.20 on refuses to set the isolation level inside a transaction; PostgreSQL begins
// another transaction with each of two statements; SQLite refuses BEGIN.
//
// # Tables
//
// Each process must count from the same table. MySQL on Linux tells worker_node from WORKER_NODE,
// and PostgreSQL a name in quotes from one without, and a table from one in a later schema of the
// search path. [Apply] and each start therefore look for tables whose names differ from ours in
// case only, or in the schema, and return [ErrTableTwin]. Config.TableName names the tables of a
// deployment that has others. A TEMPORARY table that hides one of them is refused, too.
//
// # Durability
//
// A database that forgets a commit gives the same number out again. Before it hands one out, the
// assigner checks on the connection it uses:
//
//   - MySQL, MariaDB: innodb_flush_log_at_trx_commit is 1; sync_binlog is 1 where log_bin is on
//     (MariaDB's default is 0 even then); the tables' engine is InnoDB; read_only is off, and with
//     it super_read_only.
//   - PostgreSQL: synchronous_commit is not off; fsync is on; the tables are not UNLOGGED; the
//     server is not in recovery and transactions are not read-only.
//   - SQLite: PRAGMA synchronous is EXTRA or, unless PRAGMA journal_mode is DELETE, FULL;
//     journal_mode is neither MEMORY nor OFF, which rules out a database in memory; PRAGMA
//     query_only is off. SQLite's defaults, DELETE and FULL, do not pass: a power cut may undo the
//     last commit. Drivers take settings with the file's name, such as
//     worker.db?_pragma=synchronous(EXTRA) in modernc.org/sqlite. For [LeaseStore] the file is also
//     on a local disk, neither on a file system of other hosts nor, as tmpfs is, in memory; Linux
//     only.
//
// What does not pass is refused with [assigner.ErrStoreNotDurable], or logged as a warning with
// Config.AllowUndurable. It does not see what disks, replicas that are promoted too early, and
// restores from a backup make of a commit. After such a loss of rows, raise the next ID of
// WORKER_NODE above the largest one that was ever given out before any process starts, and the
// fences of each namespace of WORKER_LEASE with [assigner.Recover].
//
// # SQLite files
//
// With PRAGMA journal_mode=WAL a commit syncs once, with DELETE three or four times, and readers
// wait for it: take WAL for a file that many processes share. A statement of this package waits 250
// ms for the others, or as long as the handle's busy_timeout says, and is tried again until its
// context ends.
//
// Two files do not know each other: each hands out the same worker IDs, and so does a copy of a
// file. Processes of one host that are to have different worker IDs share one file; hosts share a
// server. [LeaseStore] tells a file from its copies by device, inode and, on Linux, time of birth:
// worker IDs of a copy are quarantined, which covers what the original has handed out before, and
// nothing that it hands out while both are in use. It does not tell a clone of the whole disk, nor
// a backup that is written into the file itself: run [assigner.Recover] after those. A file that is
// moved, replaced or deleted while it is open makes claims and renewals fail with
// [assigner.ErrStoreDamaged].
//
// # Failures
//
// Deadlocks, lock waits, lost connections, servers that restart and servers that are read-only
// during a failover are tried again, after a random pause that grows, until the context ends, or
// for ten seconds when it has no deadline. Every error says what to do. Passwords are in none of
// them.
package sqlassigner
