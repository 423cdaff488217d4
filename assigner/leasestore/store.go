// Package leasestore is for authors of stores of leases, and for operators: the contract that a
// [Store] keeps with [github.com/uidring/uidring/assigner.Leased], the rows of a namespace, and the
// operations of operators, [Recover], [Revoke] and [Horizon].
//
// Package assignertest checks a store. Package kvassigner makes a store of any store of keys and
// values that can put a key if its revision matches.
//
// Experimental: the contract with authors of stores may still change; Recover, Revoke and Horizon
// are stable. See docs/STABILITY.md.
package leasestore

import (
	"context"
	"strings"
	"time"
)

// The way of a renewal: package assigner calls Status, Swap and Status again. The statements of the
// SQL databases are in sqlassigner/lease.go.

// A Store keeps the leases of a namespace: one Meta row, and one Row for each worker ID that was
// ever given out. The namespace is part of the store's own configuration. A Store needs no
// transactions, no locks and no exact clock. It needs a compare-and-swap on a single row that is
// durable once acknowledged, and reads that see it from then on.
//
// Any number of goroutines may use a Store at once. Package assignertest checks these rules:
//
//   - A swap that reports true is durable. Every later read through any handle shows it, on each
//     node of a cluster, so a read must not come from a lagging copy or a cache.
//   - A swap that reports false has changed nothing. The only exception is a change that took
//     effect and that another swap has replaced before the answer.
//   - An error leaves open whether the swap took effect, also when the context has ended. The swap
//     may even take effect later. The caller reads the row again.
//   - A read that could not be made is an error, never an empty row or a shorter list.
//   - The predicate of a swap compares nothing but the fields that the method names. A store whose
//     server compares revisions of its own retries a swap that meets another revision with equal
//     fields, since false would be wrong.
//   - Every method returns soon after its context has ended, with an error.
//   - An error of a store that does not answer now, such as during an outage, is a [net.Error], or
//     has a method RetryAfter() time.Duration. A generator that starts then calls again.
//   - Texts and numbers are kept as they are. A store returns an error for a text that it cannot
//     keep, and names the allowed texts.
//
// A client library that sends a call again after a lost answer breaks the second rule: the second
// call meets the change of the first, and the server reports false. Switch these retries off, or
// mark each swap: write a random text, new for each call, into the record of the row. Where the
// record that a swap meets has the mark of the call, the swap has already taken effect, and the
// server reports true. The mark must be as durable as the row.
//
// A store of several namespaces creates no namespace beside a namespace that looks alike, see
// [CheckNamespaceTwin]. If its own name is not allowed, every method returns the error of
// [CheckNamespace].
//
// A decorator that embeds a Store keeps everything that assigners use.
type Store interface {
	// Status returns the clock, the identity, the faults and the name of the server.
	Status(ctx context.Context) (Status, error)
	// LoadMeta returns the zero Meta when there is none. Together with ErrOverlap it returns
	// the meta row as well: claims are then rejected, and holders go on.
	LoadMeta(ctx context.Context) (Meta, error)
	// SwapMeta replaces the meta row by next if the row still has the version and the token of old.
	// With the zero Meta as old it creates the row if there is none. It reports whether it did.
	SwapMeta(ctx context.Context, old, next Meta) (bool, error)
	// Load returns the zero Row when there is none.
	Load(ctx context.Context, workerID int64) (Row, error)
	// List returns all rows, in any order. It may read them one after the other: each row is as it
	// was at some time during the call. Only Recover, Horizon and tools for operators call it.
	List(ctx context.Context) ([]Row, error)
	// Expired returns up to n rows that have expired by the clock of Status.Now, in any order; n is
	// 0 or more. If more have expired it chooses the oldest, or a random subset. The cost of a call
	// should depend on n only, and not on the number of rows that have not expired: a store without
	// an index of expiries may stop after a fixed number of rows, and go on with others in the next
	// call. It may leave out rows from Meta.NextWorkerID on, which no claim takes.
	Expired(ctx context.Context, n int) ([]Row, error)
	// Swap replaces a row by next if the row still has the version, the fence and the token of old.
	// With the zero Row as old it creates the row if there is none. It reports whether it did. The
	// row expires ttl from now by the clock of Status.Now, at once if ttl is not positive; Swap
	// ignores next.Expires.
	Swap(ctx context.Context, old, next Row, ttl time.Duration) (bool, error)
	// CreateFree creates those rows that do not exist, in one operation, and leaves the others
	// unchanged. New rows expire ttl from now, as with Swap. It reports whether all the rows exist
	// now. A store that cannot create many rows in one operation creates none and returns false
	// without an error: processes that start at once then create them one by one. After an error
	// any of the rows may exist.
	CreateFree(ctx context.Context, rows []Row, ttl time.Duration) (bool, error)
	// Namespaces returns the meta rows of all namespaces of the server or file by name, including
	// its own if it exists. A namespace exists if it has a meta row. A store whose server or file
	// has a single namespace returns it under the name "".
	Namespaces(ctx context.Context) (map[string]Meta, error)
}

// A Status is the answer of a server to Store.Status. One clock gives Now and Row.Expires and
// decides which rows have expired; claims compare the two.
type Status struct {
	Now      time.Time `json:"now"`      // the server's clock, or this host's if the server has none
	Seen     time.Time `json:"seen"`     // zero if the server has a clock; otherwise the writing host's time at the last write
	Identity string    `json:"identity"` // changes when the server's data is replaced; "" if the server has none
	Faults   []string  `json:"faults"`   // settings that let it forget acknowledged commits; empty: durable
	Lossy    bool      `json:"lossy"`    // it may forget acknowledged commits with any settings

	Store     string `json:"store"`     // names the server, file or folder in log records, without passwords
	Namespace string `json:"namespace"` // of the store; "" if its server or file has a single namespace
}

// A Row keeps the state of a worker ID. Its fence is the highest delta that a holder may use or may
// have used: the next holder starts above it. A claim and a renewal raise it. A release, in the
// swap that frees the row, sets it to the highest delta of which the holder has issued an ID.
//
// A store keeps numbers from 0 to the largest int64, a Token of up to 64 printable ASCII characters
// without a space, an Owner and a Holder of up to 255 characters of UTF-8 without NUL, and an
// Identity of up to 128. It may keep longer texts. An empty text and a missing one are the same.
//
// Extra is for later releases, which share a store with this one. A store keeps up to 1,000 bytes
// of UTF-8 without NUL. Every claim, renewal, release and operation copies Extra from the row that
// it replaces. This release leaves it empty in new rows.
type Row struct {
	WorkerID int64     `json:"workerID"`
	Version  int64     `json:"version"` // counts claims, from 1
	Fence    int64     `json:"fence"`
	Oldest   int64     `json:"oldest"`   // the lowest delta of which the holder, or one before it, could still issue an ID at the last claim or renewal
	Former   int64     `json:"former"`   // the highest delta that holders before it, which did not release the row, and callers may still use; 0: none
	Token    string    `json:"token"`    // random, of the holder; "" when the row is free; see Revoked
	Owner    string    `json:"owner"`    // LeaseConfig.Owner, shown to people; Fenced compares it
	Holder   string    `json:"holder"`   // host and process number of the holder, shown to people
	Identity string    `json:"identity"` // of the server at the last claim or renewal, and its Meta.Quarantine
	Expires  time.Time `json:"expires"`
	Extra    string    `json:"extra,omitempty"`
}

// Free reports whether the row has no holder because it was released, created as a spare, or taken
// from its holder by Recover.
func (r Row) Free() bool { return r.Token == "" || strings.HasPrefix(r.Token, recoveringPrefix) }

// Same reports whether r and other have the same version, fence and token. A swap from r then
// succeeds on other.
func (r Row) Same(other Row) bool {
	//mutate:operand tokens are random: equal tokens have equal versions
	return r.Version == other.Version && r.Fence == other.Fence && r.Token == other.Token
}
