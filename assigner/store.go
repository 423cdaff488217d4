package assigner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Store keeps the rows that leases are made of: one Meta and any number of Rows for a namespace,
// which is the store's to configure. It needs no transactions, no locks and no clock that is right;
// it needs a compare-and-swap on a single row that is durable once acknowledged, and reads that see
// it from then on.
//
// Any number of goroutines may use a Store. An error means that it is not known whether a swap took
// effect: the caller reads again.
type Store interface {
	// Status looks at the server.
	Status(ctx context.Context) (Status, error)
	// LoadMeta returns the zero Meta when there is none. With ErrWorkerOverlap it returns the meta
	// row all the same: nothing new is taken from the namespace then, and its holders go on.
	LoadMeta(ctx context.Context) (Meta, error)
	// SwapMeta replaces the meta row, if it still has the version and the token of old, by next.
	// The zero Meta as old creates it, if there is none.
	SwapMeta(ctx context.Context, old, next Meta) (bool, error)
	// Load returns the zero Row when there is none.
	Load(ctx context.Context, workerID int64) (Row, error)
	// List returns all rows, in any order. Only Recover and tools for operators call it.
	List(ctx context.Context) ([]Row, error)
	// Expired returns up to n rows that have expired by the store's clock, in any order. Where more
	// have expired it chooses the oldest, or some at random. The cost of a call is bounded by n
	// where possible, and does not grow with the rows that have not expired.
	Expired(ctx context.Context, n int) ([]Row, error)
	// Swap replaces a row, if it still has the version, the fence and the token of old, by next.
	// The zero Row as old creates it, if there is none. Next expires ttl from now, by the store's
	// clock, whatever its Expires says.
	Swap(ctx context.Context, old, next Row, ttl time.Duration) (bool, error)
}

// Namespaced is a Store that keeps several namespaces beside each other.
type Namespaced interface {
	Store
	// Namespace returns the name of this one.
	Namespace() string
	// Namespaces returns the meta rows of all namespaces by name, this one included if it exists.
	Namespaces(ctx context.Context) (map[string]Meta, error)
}

// A Creator is a Store that creates many rows in one operation, for processes that start at once.
type Creator interface {
	Store
	// CreateFree creates the rows that are not there, and leaves the others as they are. They
	// expire ttl from now, as with Swap. After an error it is not known which are there.
	CreateFree(ctx context.Context, rows []Row, ttl time.Duration) error
}

// A Status is what a server says of itself.
type Status struct {
	Now      time.Time // its clock
	Seen     time.Time // zero for a server with a clock; else the host's time at the last write by any host
	Identity string    // what changes when its data is replaced by other data; "" when it has no such thing
	Faults   []string  // settings that let it forget what it has acknowledged; none: durable
	Lossy    bool      // it may forget whatever its settings are
}

// A Meta says what the worker IDs of a namespace are used with. All its holders compose IDs alike.
type Meta struct {
	Version       int64  // counts swaps, from 1
	Namespace     string // random; another one shows that the rows were made anew
	Layout        bitsalloc.Layout
	Epoch         time.Time
	DatacenterID  int64
	FirstWorkerID int64  // the smallest of the namespace, see LeaseConfig.FirstWorkerID
	NextWorkerID  int64  // the smallest that was never given out
	Prepared      int64  // the largest Domain.Prepared of all holders
	Fence         int64  // of every worker ID whose row has a lower one, or is missing
	Token         string // random, of the last swap
	Identity      string // of the server that Fence is known to hold for
}

// A Row stands for a worker ID. Its fence is the highest delta that any holder was ever allowed to
// use.
type Row struct {
	WorkerID int64
	Version  int64 // counts claims, from 1
	Fence    int64
	Token    string // random, of the holder; "" when the row is free; see Revoked
	Owner    string // of the worker ID, for people, and for Fenced
	Holder   string // host and process number of the process that claimed it, for people
	Identity string // of the server, when the row was claimed
	Expires  time.Time
}

// Same reports whether a swap from m finds other unchanged.
func (m Meta) Same(other Meta) bool { return m.Version == other.Version && m.Token == other.Token }

// Free reports whether the row has no holder: it was released, created for others, or taken from
// its holder by Recover.
func (r Row) Free() bool { return r.Token == "" || strings.HasPrefix(r.Token, recoveringPrefix) }

// unused reports whether the row was created for others and never claimed.
func (r Row) unused() bool { return r.Version == 1 && r.Token == "" && r.Owner == "" }

// Same reports whether a swap from r finds other unchanged: with the same version, fence and token.
func (r Row) Same(other Row) bool {
	return r.Version == other.Version && r.Fence == other.Fence && r.Token == other.Token
}

// mismatch says in which fields a namespace and a domain differ, all of them, or returns nil.
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
