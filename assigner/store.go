package assigner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Store keeps the leases of a namespace: one Meta row, and one Row for each worker ID that was
// ever given out. The namespace is part of the store's own configuration. A Store needs no
// transactions, no locks and no exact clock. It needs a compare-and-swap on a single row that is
// durable once acknowledged, and reads that see it from then on.
//
// Any number of goroutines may use a Store at once. After an error of a swap the caller cannot know
// whether the swap took effect, and reads the row again.
type Store interface {
	// Status returns the clock, the identity and the faults of the server.
	Status(ctx context.Context) (Status, error)
	// LoadMeta returns the zero Meta when there is none. Together with ErrWorkerOverlap it returns
	// the meta row as well: claims are then rejected, and holders go on.
	LoadMeta(ctx context.Context) (Meta, error)
	// SwapMeta replaces the meta row by next if the row still has the version and the token of old.
	// With the zero Meta as old it creates the row if there is none. It reports whether it did.
	SwapMeta(ctx context.Context, old, next Meta) (bool, error)
	// Load returns the zero Row when there is none.
	Load(ctx context.Context, workerID int64) (Row, error)
	// List returns all rows, in any order. Only Recover and tools for operators call it.
	List(ctx context.Context) ([]Row, error)
	// Expired returns up to n rows that have expired by the store's clock, in any order. If more
	// have expired it chooses the oldest, or a random subset. The cost of a call should depend on n
	// only, and not on the number of rows that have not expired: a store without an index of
	// expiries may stop after a fixed number of rows, and go on with others in the next call. It
	// may leave out rows from Meta.NextWorkerID on, which no claim takes.
	Expired(ctx context.Context, n int) ([]Row, error)
	// Swap replaces a row by next if the row still has the version, the fence and the token of old.
	// With the zero Row as old it creates the row if there is none. It reports whether it did. The
	// row expires ttl from now by the store's clock; Swap ignores next.Expires.
	Swap(ctx context.Context, old, next Row, ttl time.Duration) (bool, error)
}

// A Namespaced is a Store whose server or file holds several namespaces.
type Namespaced interface {
	Store
	// Namespace returns the name of the store's own namespace.
	Namespace() string
	// Namespaces returns the meta rows of all namespaces by name, including its own if it exists.
	Namespaces(ctx context.Context) (map[string]Meta, error)
}

// A Creator is a Store that creates many rows in one operation, for processes that start at once.
type Creator interface {
	Store
	// CreateFree creates those rows that do not exist, and leaves the others unchanged. New rows
	// expire ttl from now, as with Swap. After an error any of them may exist.
	CreateFree(ctx context.Context, rows []Row, ttl time.Duration) error
}

// A Status is the answer of a server to Store.Status.
type Status struct {
	Now      time.Time // the server's clock
	Seen     time.Time // zero if the server has a clock; otherwise the writing host's time at the last write
	Identity string    // changes when the server's data is replaced; "" if the server has none
	Faults   []string  // settings that let it forget acknowledged commits; empty: durable
	Lossy    bool      // it may forget acknowledged commits with any settings
}

// A Meta describes a namespace. All its holders compose IDs in the same way.
type Meta struct {
	Version       int64  // counts swaps, from 1
	Namespace     string // random; another value shows that the namespace was created again
	Layout        bitsalloc.Layout
	Epoch         time.Time
	DatacenterID  int64
	FirstWorkerID int64  // smallest worker ID of the namespace, see LeaseConfig.FirstWorkerID
	NextWorkerID  int64  // smallest worker ID that was never given out
	Prepared      int64  // the largest Domain.Prepared of all holders
	Fence         int64  // lower bound for the fence of every row, also of rows not created yet
	Token         string // random, new at each swap
	Identity      string // of the server to which Fence applies
}

// A Row keeps the state of a worker ID. Its fence is the highest delta that any holder was ever
// allowed to use.
type Row struct {
	WorkerID int64
	Version  int64 // counts claims, from 1
	Fence    int64
	Token    string // random, of the holder; "" when the row is free; see Revoked
	Owner    string // LeaseConfig.Owner, shown to people; Fenced compares it
	Holder   string // host and process number of the holder, shown to people
	Identity string // of the server at the last claim or renewal
	Expires  time.Time
}

// Same reports whether m and other have the same version and token. A swap from m then succeeds on
// other.
func (m Meta) Same(other Meta) bool { return m.Version == other.Version && m.Token == other.Token }

// Free reports whether the row has no holder because it was released, created as a spare, or taken
// from its holder by Recover.
func (r Row) Free() bool { return r.Token == "" || strings.HasPrefix(r.Token, recoveringPrefix) }

// unused reports whether the row was created as a spare and never claimed.
func (r Row) unused() bool { return r.Version == 1 && r.Token == "" && r.Owner == "" }

// Same reports whether r and other have the same version, fence and token. A swap from r then
// succeeds on other.
func (r Row) Same(other Row) bool {
	return r.Version == other.Version && r.Fence == other.Fence && r.Token == other.Token
}

// mismatch returns an error that names all fields in which a namespace and a domain differ, or nil.
func (m Meta) mismatch(d Domain, firstWorkerID int64) error {
	var errs []error
	field := func(name string, stored, mine any) {
		if stored != mine {
			errs = append(errs, fmt.Errorf("%w: %s %v in the store, here %v; services that share worker IDs use one "+
				"Layout, Epoch and DatacenterID: correct them here, or use another namespace with another DatacenterID", ErrLayoutMismatch, name, stored, mine))
		}
	}
	field("DeltaBits", m.Layout.DeltaBits, d.Layout.DeltaBits)
	field("DatacenterBits", m.Layout.DatacenterBits, d.Layout.DatacenterBits)
	field("WorkerBits", m.Layout.WorkerBits, d.Layout.WorkerBits)
	field("SequenceBits", m.Layout.SequenceBits, d.Layout.SequenceBits)
	field("Unit", m.Layout.Unit, d.Layout.Unit)
	field("Epoch", m.Epoch.UTC().Format(time.RFC3339Nano), d.Epoch.UTC().Format(time.RFC3339Nano))
	field("DatacenterID", m.DatacenterID, d.DatacenterID)
	field("FirstWorkerID", m.FirstWorkerID, firstWorkerID)
	return errors.Join(errs...)
}
