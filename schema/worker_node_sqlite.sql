-- Worker IDs, for SQLite: sqlite3 your.db < worker_node_sqlite.sql
-- Creates missing tables and indexes, and changes nothing that exists.

-- One row for each start of a process (Disposable) and one for each service key (Sticky). ID is
-- the worker ID. The table has the columns of Baidu's UidGenerator.
--
-- Written by: the assigner, one INSERT for each new worker ID; it never updates or deletes a row.
-- Rows of processes that no longer run may be deleted, but never the row with the largest ID: with
-- AUTOINCREMENT SQLite remembers it, other databases that the rows may move to do not.
CREATE TABLE IF NOT EXISTS WORKER_NODE (
    ID          integer     NOT NULL PRIMARY KEY AUTOINCREMENT,   -- the worker ID, from 1 up
    HOST_NAME   varchar(64) NOT NULL,                             -- address of the host, or of the container's host
    PORT        varchar(64) NOT NULL,                             -- port of the container, else milliseconds-random
    TYPE        int         NOT NULL,                             -- 1: container, 2: host
    LAUNCH_DATE date        NOT NULL,                             -- day of the start, UTC
    MODIFIED    timestamp   NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CREATED     timestamp   NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- The token by which a running process knows that its row of WORKER_NODE is still its own.
--
-- Written by: the assigner, in the transaction that writes the row of WORKER_NODE. A row may be
-- deleted when its process has ended; as long as the row exists, the assigner does not give out
-- its worker ID again, even if WORKER_NODE loses rows.
CREATE TABLE IF NOT EXISTS WORKER_NODE_TOKEN (
    ID      integer     NOT NULL PRIMARY KEY,                     -- as in WORKER_NODE
    TOKEN   varchar(64) NOT NULL,                                 -- random, known to the holder only
    CREATED datetime    NOT NULL                                  -- UTC
);

-- A single row: the layout and the epoch of IDs with the worker IDs of WORKER_NODE. The assigner
-- refuses a service with another layout or epoch, since it would repeat IDs of other services.
--
-- Written by: the first assigner that uses the table, or sqlassigner.Pin for Java services. Delete
-- the row only if no ID of the old layout and epoch can meet new IDs.
CREATE TABLE IF NOT EXISTS WORKER_NODE_PIN (
    ID              integer  NOT NULL PRIMARY KEY,                -- always 1
    DELTA_BITS      int      NOT NULL,
    DATACENTER_BITS int      NOT NULL,
    WORKER_BITS     int      NOT NULL,
    SEQUENCE_BITS   int      NOT NULL,
    UNIT_MS         bigint   NOT NULL,                            -- length of a unit, in milliseconds
    EPOCH_MS        bigint   NOT NULL,                            -- the epoch (delta 0), in milliseconds since 1970 UTC
    CREATED         datetime NOT NULL                             -- UTC
);
