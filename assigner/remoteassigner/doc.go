// Package remoteassigner takes leases of worker IDs over HTTP, for processes that must not or
// cannot reach the database themselves: an edge node, a function, a service in another network.
// The process embeds a generator, so IDs cost no request; only the lease is renewed over HTTP.
//
//	servers := []string{"https://ids.example.com:8443"}
//	leases := remoteassigner.LeaseStore(servers, "orders", remoteassigner.Config{Token: token})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(leases, assigner.LeaseConfig{})})
//
// The server is uidring serve with --leases orders, see docs/SERVING.md in the repository, or any
// program that serves [NewHandler]. The server makes each call on its own store and answers after
// the store has: every swap stays one compare-and-swap in the database, and a grant has the
// guarantee of that database. Wrong clocks, pauses, crashes, lost answers and cut connections
// cannot cause duplicate IDs, neither of the process nor of the server.
//
// # Lost answers
//
// A call whose answer is lost, cut off or unreadable returns an error, and so does an answer that
// is not the server's, such as the page of a proxy. So does the answer to another request, from a
// cache: each answer repeats a random text of its request. The client does not send a call again:
// all calls are POST requests, which HTTP forbids clients and proxies to repeat by themselves. A
// proxy that repeats them all the same causes no duplicate IDs, but it costs worker IDs: the second
// call meets the change of the first, and reports false for a swap that took effect, so that claims
// and renewals fail. Make no exception for them in a proxy or in Config.Client.
//
// Both sides may be of neighbouring releases: each ignores fields that it does not know.
//
// # Rights
//
// A token for leases is as powerful as a user of the database: its holder can change and revoke
// every lease of the offered namespaces, and read the names and meta rows of the others in the
// store. It is not a token for IDs. Send it over HTTPS only.
//
// Experimental: its protocol may still change, and client and server are then updated together. See
// docs/STABILITY.md.
package remoteassigner
