// Package segment issues dense, short, increasing 64-bit IDs from a counter in a database: a
// process fetches a range of the counter and issues the IDs of that range from memory. Leaf and
// TinyId call this scheme the segment mode.
//
//	orders, err := segment.New(segment.Config{
//		Name:   "orders",
//		Source: sqlassigner.SegmentSource(db, sqlassigner.Config{}),
//	})
//	…
//	id, err := orders.Next() // 1, 2, 3, …
//
// The package needs no clock and no worker ID. In exchange it needs its store for every range, and
// processes interleave: each uses up a range of its own.
//
// # Ranges
//
// While a process uses one range, the next one is ready. The generator fetches another as soon as
// it begins a range, in the background. The size of the ranges follows the rate: once it has grown
// from Config.Step, a range lasts about Config.RangeLasts, unless MaxStep bounds it. An outage of
// the store that is shorter than that costs no caller anything. After that, callers get [ErrEmpty],
// and the generator retries until the store answers.
//
// # Guarantees
//
// With one source whose store is durable:
//
//   - IDs are unique among all processes that use the counter, and are never issued again, after
//     any crash of processes and of the store.
//   - Within a process IDs increase: each call returns larger IDs than all calls that returned
//     before it began. The IDs of a [Lane] increase by themselves. IDs of two processes are not
//     ordered by time.
//   - A process that ends or is killed loses the IDs it has left: at most Prefetch+1 ranges, two by
//     default, each at most MaxStep IDs, and a range that it is fetching. When the store's answer
//     to a fetch is lost, so is its range. A Lane loses the rest of its block. Invalidate loses as
//     much as the end of the process. No other IDs are lost.
//
// With several sources (Config.Others) IDs are unique as before, provided that each database issues
// other remainders, which the generator checks. IDs increase only within each database: the ranges
// of the databases take turns, and their counters may be apart. If a database fails, IDs come from
// the others. If it is lost for good, the IDs from its counter end, and no other database issues
// them.
//
// A store that forgets a commit, after a restore or a failover to a replica that was behind, issues
// the same ranges again. A generator that sees its own counter go back stops with [ErrWentBack],
// but a process that starts later does not notice. Call [Recover] before that. A process that is
// resumed from a snapshot issues the same IDs as its copy, unless it calls [Generator.Invalidate]
// or [Numbers.Invalidate] before it issues an ID.
//
// # Volume
//
// Dense IDs show how many there are: a customer with the IDs of two orders knows about how many
// orders lie between them. Show such IDs only to readers who may know that. Package cached issues
// IDs that do not show it.
//
// # Business numbers
//
// [Numbers] counts from 1 in each day, month or year, and formats the numbers: ORD-20261122-000042.
package segment
