-- Leased worker IDs, for SQLite: sqlite3 your.db < worker_lease_sqlite.sql
-- Creates missing tables and indexes, and changes nothing that exists. The tables need no
-- others. If the database has a WORKER_NODE, too, FIRST_WORKER_ID of a namespace must be above
-- every ID in it; otherwise the assigners refuse to start. See "Leases beside WORKER_NODE" in
-- docs/IDENTITY.md.

-- One row for each worker ID of a namespace that was ever given out. FENCE is the highest delta
-- that a holder may use or may have used; the next holder begins above it. Claims and renewals
-- raise it, and only the release of its holder lowers it. Only FENCE keeps the IDs of two holders
-- apart: EXPIRES_AT merely decides when another process may take the row.
--
-- Written by: the assigner, one INSERT when it first gives out a worker ID, one UPDATE of one
-- row for each claim, renewal and release, and for a read that must see durable data only.
-- Never delete a row, never TRUNCATE the table, never lower a FENCE by hand: generators would repeat
-- IDs. After any restore, and after any failover that may have lost commits, raise all fences
-- before a generator can reach the database: leasestore.Recover does that.
CREATE TABLE IF NOT EXISTS WORKER_LEASE (
    NAMESPACE  varchar(64)  NOT NULL,                             -- exact; the assigners refuse A beside a
    WORKER_ID  bigint       NOT NULL,
    FENCE      bigint       NOT NULL,                             -- a delta, in units since the epoch
    OLDEST     bigint       NOT NULL,                             -- the oldest delta that the holder, or one before it, could still use at the last renewal
    FORMER     bigint       NOT NULL,                             -- the highest delta that holders before it may still use; 0: none
    VERSION    bigint       NOT NULL,                             -- counts claims, from 1
    TOKEN      varchar(64)  NOT NULL,                             -- random, known to the holder only; '': free
    OWNER      varchar(255) NOT NULL,                             -- name of the present or last owner
    HOLDER     varchar(255) NOT NULL,                             -- host and process of the holder, for people
    SERVER_ID  varchar(128) NOT NULL,                             -- identity of the server at the claim, and QUARANTINE; may be ''
    EXTRA      varchar(1000) NOT NULL,                            -- of a later release
    EXPIRES_AT datetime     NOT NULL,                             -- UTC, by the clock of the database
    SWAPS      bigint       NOT NULL,                             -- counts writes, so that each one changes the row
    PRIMARY KEY (NAMESPACE, WORKER_ID)
);

-- A claim reads the rows that expired first.
CREATE INDEX IF NOT EXISTS WORKER_LEASE_EXPIRY ON WORKER_LEASE (NAMESPACE, EXPIRES_AT);

-- One row for each namespace: the layout and the epoch of its IDs, and the smallest worker ID
-- that was never given out. The assigner refuses a service with another layout or epoch, since
-- it would repeat IDs of other services.
--
-- Written by: the first assigner that uses the namespace; then one UPDATE for each new worker
-- ID, and one whenever FENCE rises, at a recovery, QUARANTINE, after a change of servers, or
-- HORIZON. Never delete a row, never lower NEXT_WORKER_ID, FENCE, QUARANTINE or HORIZON. To start
-- afresh, use another namespace, and only if no ID of the old namespace can meet IDs of the new
-- one.
CREATE TABLE IF NOT EXISTS WORKER_LEASE_META (
    NAMESPACE       varchar(64) NOT NULL,
    VERSION         bigint      NOT NULL,                         -- counts changes, from 1
    NAMESPACE_UUID  varchar(64) NOT NULL,                         -- random; changes if the namespace is made anew
    DELTA_BITS      int         NOT NULL,
    DATACENTER_BITS int         NOT NULL,
    WORKER_BITS     int         NOT NULL,
    SEQUENCE_BITS   int         NOT NULL,
    UNIT_MS         bigint      NOT NULL,                         -- length of a unit, in milliseconds
    EPOCH_MS        bigint      NOT NULL,                         -- the epoch (delta 0), in milliseconds since 1970 UTC
    DATACENTER_ID   bigint      NOT NULL,
    FIRST_WORKER_ID bigint      NOT NULL,                         -- the smallest of the namespace; smaller ones are left to WORKER_NODE
    NEXT_WORKER_ID  bigint      NOT NULL,                         -- the smallest that was never given out
    FENCE           bigint      NOT NULL,                         -- fence of all worker IDs without a higher one; never lowered
    HORIZON         bigint      NOT NULL,                         -- claims begin above this delta; raised by leasestore.Horizon
    QUARANTINE      bigint      NOT NULL,                         -- highest delta that servers before SERVER_ID may have granted and forgotten
    TOKEN           varchar(64) NOT NULL,                         -- random, of the last change
    SERVER_ID       varchar(128) NOT NULL,                        -- identity of the server at the last claim; may be ''
    EXTRA           varchar(1000) NOT NULL,                       -- of a later release
    SCHEMA_VERSION  int         NOT NULL,                         -- of these two tables: 1
    SWAPS           bigint      NOT NULL,                         -- counts writes, so that each one changes the row
    PRIMARY KEY (NAMESPACE)
);
