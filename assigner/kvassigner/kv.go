package kvassigner

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/assigner/leasestore"
)

const (
	// BlockSize is the largest number of rows in a folder.
	BlockSize = 1000
	// MaxValue is the largest size of a value, in bytes. Most rows take about 300.
	MaxValue = 16 << 10
)

// A KV is a store of keys and values with an atomic write of one key. Any number of goroutines call
// its methods at once. The methods return soon after their context ends, and return an error
// whenever the store did not confirm the result. Errors and log records name a KV by its String
// method if it has one: return the address of the server, without passwords.
type KV interface {
	// Get returns the value and the revision of a key, or the revision "" if there is no such key.
	// It sees every write that was acknowledged before it was called, by any process: no cache, no
	// replica that lags.
	Get(ctx context.Context, key string) (value []byte, revision string, err error)
	// Put writes a key if the key still has the revision, or if it does not exist and the revision
	// is "". It returns true when the write is durable, and false when the key has another
	// revision. It returns an error when the write may have taken effect. If its client sends a
	// request twice, false may be the answer to the second one: the adapter then finds its own
	// value. Each write of a key gives it a revision that the key never had.
	Put(ctx context.Context, key string, value []byte, revision string) (bool, error)
	// List returns all entries whose keys start with prefix, in any order. The prefix ends with a
	// slash. List sees every write that was acknowledged before it was called; entries may come
	// from different moments.
	List(ctx context.Context, prefix string) ([]Entry, error)
	// Status returns the clock, the identity and the faults of the server, see [leasestore.Status],
	// from the server and not from memory. Leave Now and Seen zero if the server does not report
	// its clock: the adapter then uses the clock of this host, and keeps the time of the last write
	// under a key of its own, exact to half a second.
	Status(ctx context.Context) (leasestore.Status, error)
	// Passes reports whether a call that failed with err may succeed later, by itself, such as when
	// the server has no time. A generator that starts then waits. It also waits after errors of the
	// network, for which Passes may return false.
	Passes(err error) bool
}

// A Checker is a KV with settings. LeaseStore calls Check once; every method of the store returns
// its error.
type Checker interface {
	KV
	// Check returns all mistakes in the settings, and an error for a namespace that cannot be part
	// of the store's names.
	Check(namespace string) error
}

// An Entry is a result of KV.List. The key appears in errors only, and may be the store's own name
// for it.
type Entry struct {
	Key   string
	Value []byte
}

// atOnce is the largest number of calls that GetAll makes at once.
const atOnce = 64

// GetAll calls get for each key, up to 64 times at once, and returns the entries that exist. A KV
// whose store lists names without values implements List with it. It returns the first error of
// get, and then cancels the context of the other calls.
func GetAll(ctx context.Context, keys []string, get func(ctx context.Context, key string) (value []byte, revision string, err error)) ([]Entry, error) {
	found := make([]Entry, len(keys))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(atOnce)
	for i, key := range keys {
		calls.Go(func() error {
			value, revision, err := get(ctx, key)
			if revision != "" {
				found[i] = Entry{Key: key, Value: value}
			}
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(e Entry) bool { return e.Key == "" }), nil
}
