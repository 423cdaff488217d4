-- Worker IDs, for MySQL and MariaDB: mysql your_database < worker_node.sql
-- Creates missing tables and indexes, and changes nothing that exists.

-- One row for each start of a process (Disposable) and one for each service key (Sticky). ID is
-- the worker ID. The table has the columns of Baidu's UidGenerator: Java services may write to
-- the same table if they use the same epoch, unit and bit widths.
--
-- Written by: the assigner, one INSERT for each new worker ID; it never updates or deletes a row.
-- Rows of processes that no longer run may be deleted, but never the row with the largest ID: MySQL
-- 5.7 and older give its number out again after a restart. Never TRUNCATE the table.
CREATE TABLE IF NOT EXISTS WORKER_NODE (
    ID          bigint      NOT NULL AUTO_INCREMENT,              -- the worker ID, from 1 up
    HOST_NAME   varchar(64) NOT NULL,                             -- address of the host, or of the container's host
    PORT        varchar(64) NOT NULL,                             -- port of the container, else milliseconds-random
    TYPE        int         NOT NULL,                             -- 1: container, 2: host
    LAUNCH_DATE date        NOT NULL,                             -- day of the start, UTC
    MODIFIED    timestamp   NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CREATED     timestamp   NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (ID)
) ENGINE = InnoDB;

-- The token by which a running process knows that its row of WORKER_NODE is still its own.
-- It has a table of its own so that WORKER_NODE keeps the columns that Java services know.
--
-- Written by: the assigner, in the transaction that writes the row of WORKER_NODE. A row may be
-- deleted when its process has ended; as long as the row exists, the assigner does not give out
-- its worker ID again, even if WORKER_NODE loses rows.
CREATE TABLE IF NOT EXISTS WORKER_NODE_TOKEN (
    ID      bigint      NOT NULL,                                 -- as in WORKER_NODE
    TOKEN   varchar(64) NOT NULL,                                 -- random, known to the holder only
    CREATED datetime(6) NOT NULL,                                 -- UTC
    PRIMARY KEY (ID)
) ENGINE = InnoDB;

-- A single row: the layout and the epoch of IDs with the worker IDs of WORKER_NODE. The assigner
-- refuses a service with another layout or epoch, since it would repeat IDs of other services.
--
-- Written by: the first assigner that uses the table, or sqlassigner.Pin for Java services. Delete
-- the row only if no ID of the old layout and epoch can meet new IDs.
CREATE TABLE IF NOT EXISTS WORKER_NODE_PIN (
    ID              int         NOT NULL,                         -- always 1
    DELTA_BITS      int         NOT NULL,
    DATACENTER_BITS int         NOT NULL,
    WORKER_BITS     int         NOT NULL,
    SEQUENCE_BITS   int         NOT NULL,
    UNIT_MS         bigint      NOT NULL,                         -- length of a unit, in milliseconds
    EPOCH_MS        bigint      NOT NULL,                         -- the epoch (delta 0), in milliseconds since 1970 UTC
    CREATED         datetime(6) NOT NULL,                         -- UTC
    PRIMARY KEY (ID)
) ENGINE = InnoDB;
