// Package client takes IDs from servers of the ID service, `uidring serve`, for programs without
// access to the store of worker IDs.
//
//	ids, err := client.New(client.Config{
//		Servers: []string{"https://ids-1.example.com", "https://ids-2.example.com"},
//		Token:   token,
//	})
//	…
//	id, err := ids.NextContext(ctx)
//
// A Client fetches ranges of IDs in the background, from one to two batches ahead of use, and
// issues them from memory. Make one Client per process and share it.
//
// # Servers
//
// Well servers take turns, so that they share the load. A server has at most one request under way.
// If it takes longer than 100 ms, the client asks another server, too, and uses both answers: each
// slow server may add a batch to those in memory.
//
// After a failed request or a timeout the client sends the server no request for half a second.
// Each further failure doubles the pause, up to 30 s. While no server is well, no pause is longer
// than 1 s. Up to a quarter of a pause, at random, is left out. A Retry-After in seconds lengthens
// each of these pauses, up to 30 s. After a pause one request tries the server beside the others,
// so that no call waits for it. The log has a record when a server begins to fail, and when it
// answers again.
//
// A range that is not above the last ID of its server and worker fails the request, too: a proxy or
// server has repeated an answer.
//
// # Order
//
// The IDs of a batch increase. Batches of several servers are ordered only roughly by time, and an
// ID is up to [Config.MaxAge] older than the call that returns it, or less if its server allows
// less.
//
// # Copies of a process
//
// A process that resumes from a snapshot has the same IDs in memory as every other process that
// does so: make the Client after that.
//
// Experimental: this package may still change. See docs/STABILITY.md.
package client
