-- Counters for package segment, for PostgreSQL 10 and newer: psql -f segment_postgres.sql your_database
-- Creates the table if it is missing, and changes nothing that exists. The table needs no others.

-- One row for each counter. A process takes a range of IDs by moving NEXT_ID forward. Where several
-- databases share the IDs of a counter, each has a row with the same DELTA and another REMAINDER,
-- and gives out the IDs that leave this remainder when divided by DELTA.
--
-- Written by: the segment source, one INSERT for each new counter, one UPDATE for each range.
-- Never delete a row, never TRUNCATE the table, never lower NEXT_ID, never change DELTA or
-- REMAINDER: generators would repeat IDs. After any restore, and after any failover that may have
-- lost commits, raise NEXT_ID above every ID ever issued before a generator can reach the database:
-- segment.Recover does that. Rows of counters with a date in their name may be deleted days
-- after that date.
CREATE TABLE IF NOT EXISTS ID_SEGMENT (
    NAME      varchar(64)  NOT NULL, -- exact
    NEXT_ID   bigint NOT NULL      , -- no ID from here on was given out
    DELTA     bigint NOT NULL      , -- number of databases that share the counter; 1: only this one
    REMAINDER bigint NOT NULL      , -- 0 to DELTA - 1
    PRIMARY KEY (NAME)
);
