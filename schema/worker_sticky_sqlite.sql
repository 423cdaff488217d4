-- Sticky worker IDs, for SQLite: sqlite3 your.db < worker_sticky_sqlite.sql
-- Apply worker_node_sqlite.sql first. Creates missing tables and indexes, and changes nothing
-- that exists.

-- One row for each service key. Its worker ID comes from a row of WORKER_NODE, which gives it to no
-- other key and to no disposable start, and stays with the key.
--
-- Written by: the assigner, when a process starts with the key: it becomes the holder at once. A
-- deleted row costs its holder the worker ID; the key gets a new one then.
CREATE TABLE IF NOT EXISTS WORKER_STICKY (
    SERVICE_KEY varchar(128) NOT NULL PRIMARY KEY,                -- exact: a and A are two keys
    WORKER_ID   bigint       NOT NULL UNIQUE,                     -- an ID of WORKER_NODE
    TOKEN       varchar(64)  NOT NULL,                            -- random, known to the holder only
    HOLDER      varchar(255) NOT NULL,                            -- host and process, for people
    MODIFIED    datetime     NOT NULL,                            -- when it last changed hands, UTC
    CREATED     datetime     NOT NULL                             -- UTC
);
