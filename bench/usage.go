package main

// usage is what -h prints. A test holds it to name every flag.
const usage = `bench takes a worker ID, issues IDs at full speed, checks every one, and prints the figures.

  go run ./bench [flags]
  go run ./bench COMMAND [flags]

Commands, each with a -h of its own
  compare              this library beside others, and beside what they are built from
  sweep                Next with many settings: which of them matter
  tail                 latency of single calls up to p99.999, and whose it is
  soak                 a thousand million IDs in every mode, each counted exactly once
  report               all of these, as a folder with tables and pictures

Where the worker ID comes from (without these: WORKER_NODE of a new SQLite database in a temporary folder)
  -dsn DSN             MySQL or MariaDB: user:password@tcp(host:port)/database. Each run uses up a worker ID
                       and ties the tables to the layout, so give it a database of its own
  -create              create the tables of that database first, where they are missing
  -worker N            this number, no database
  -datacenter N        value of the datacenter field (0)

The generator
  -layout L            default, leased, baidu, snowflake, javascript, or the widths of delta, datacenter,
                       worker and sequence, with a unit other than 1s at the end: 28/5/17/13, 41/0/10/12/1ms
                       (default)
  -boost-power N       the ring holds 2^N runs of 2^sequence IDs, 1 to 20 (3)
  -padding-factor N    percentage left in the ring that wakes the padding goroutine, 1 to 99 (50)
  -schedule D          also look at the ring at this interval; 0: never (0)
  -on-empty P          pad: the caller that finds the ring empty pads; reject: it gets an error, and
                       tries again (pad)

The load
  -goroutines N        how many take IDs (GOMAXPROCS)
  -batch N             take N IDs a call with Fill, up to 1048576; 0: one a call with Next (0)
  -rate R              pace: R IDs per second over all goroutines; 0: flat out (0)
  -duration D          how long to measure (3s)
  -check N             how many IDs to check afterwards, at least; paced, -duration ends it sooner;
                       0: none (100000000)

The output
  -json                one JSON object instead of tables

Examples
  go run ./bench
  go run ./bench -goroutines 1 -batch 256
  go run ./bench -layout snowflake -rate 1e6 -duration 10s
  go run ./bench -on-empty reject -boost-power 1 -padding-factor 10
  go run ./bench compare -quick
  go run ./bench -dsn 'root@tcp(127.0.0.1:3306)/bench' -create -json
`
