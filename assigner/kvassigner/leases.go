package kvassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

const (
	// metas is the prefix of the keys of all meta rows, and of no other keys.
	metas = "meta/"
	// mostFolders is the largest number of folders that a call of Expired lists.
	mostFolders = 32
)

// Config configures a [LeaseStore]. It has no options yet: use its zero value.
type Config struct{}

// LeaseStore returns the store of a namespace, for [assigner.Leased], [assigner.Auto] and
// [assigner.Fenced]. Its methods return the mistakes in the arguments of LeaseStore, and wrap the
// errors of kv.
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. Services whose
// IDs meet in one table or message use the same namespace. A name that differs from an existing
// namespace only in letter case is rejected with [leasestore.ErrOverlap].
//
// Any number of goroutines may use the store at once.
func LeaseStore(kv KV, namespace string, _ Config) leasestore.Store {
	l := &leases{kv: kv, err: leasestore.CheckNamespace(namespace), namespace: namespace}
	l.block.Store(rand.Uint64())
	if c, ok := kv.(Checker); ok {
		l.err = errors.Join(c.Check(namespace), l.err)
	}
	if kv == nil {
		l.err = errors.Join(errors.New("kvassigner: kv is required"), l.err)
	}
	return l
}

type leases struct {
	kv        KV
	err       error // of the arguments of LeaseStore
	namespace string
	clock     atomic.Pointer[reading] // the last one
	block     atomic.Uint64           // where the next call of Expired starts
}

// about names the server and the place of its keys.
func (l *leases) about() string {
	if s, ok := l.kv.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", l.kv)
}

func (l *leases) metaKey() string { return metas + leasestore.FoldNamespace(l.namespace) }

func (l *leases) seenKey() string { return "seen/" + l.namespace }

// workers is the prefix of the keys of rows.
func (l *leases) workers() string { return "worker/" + l.namespace + "/" }

// folder is the prefix of the keys of the rows in a block.
func (l *leases) folder(block int64) string { return fmt.Sprintf("%s%016d/", l.workers(), block) }

func (l *leases) rowKey(workerID int64) string {
	return fmt.Sprintf("%s%03d", l.folder(workerID/BlockSize), workerID%BlockSize)
}

func (l *leases) Status(ctx context.Context) (leasestore.Status, error) {
	if l.err != nil {
		return leasestore.Status{}, l.err
	}
	status, err := l.kv.Status(ctx)
	if err != nil {
		return leasestore.Status{}, l.explain(ctx, "", err)
	}
	status.Store, status.Namespace = l.about(), l.namespace
	timeless := status.Now.IsZero()
	if timeless {
		seen, _, err := get[time.Time](ctx, l, l.seenKey())
		if err != nil {
			return leasestore.Status{}, err
		}
		status.Now, status.Seen = time.Now(), seen.Value
	}
	l.clock.Store(&reading{status.Now, time.Now(), timeless})
	return status, nil
}

func (l *leases) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	stored, _, err := get[leasestore.Row](ctx, l, l.rowKey(workerID))
	return stored.Value, err
}

func (l *leases) List(ctx context.Context) ([]leasestore.Row, error) {
	return list[leasestore.Row](ctx, l, l.workers())
}

// Expired starts at a random folder, so that processes that start at once find different rows, and
// wraps around. The next call goes on where it stopped. It leaves out rows that the meta row does
// not count.
func (l *leases) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	meta, err := l.LoadMeta(ctx)
	if meta.NextWorkerID <= meta.FirstWorkerID { // so it is beside an error, too
		return nil, err
	}
	first, last := meta.FirstWorkerID/BlockSize, (meta.NextWorkerID-1)/BlockSize
	all := uint64(last - first + 1)
	start := l.block.Load()
	var found []leasestore.Row
	for i := uint64(0); i < min(all, mostFolders) && len(found) < n; i++ {
		//mutate:operator backwards, the calls meet each block as well
		rows, err := list[leasestore.Row](ctx, l, l.folder(first+int64((start+i)%all)))
		if err != nil {
			return nil, err
		}
		now, _, err := l.now(ctx)
		if err != nil {
			return nil, err
		}
		l.block.Add(1) //mutate:swap the order is no promise
		found = append(found, slices.DeleteFunc(rows, func(r leasestore.Row) bool { return r.Expires.After(now) })...)
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(n, len(found))], nil
}

func (l *leases) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	now, err := l.startWrite(ctx)
	if err != nil {
		return false, err
	}
	next.Expires = now.Add(ttl).UTC()
	key := l.rowKey(next.WorkerID)
	if err := next.CheckTexts(); err != nil {
		return false, fmt.Errorf("kvassigner: key %s: %w", key, err)
	}
	return swap(ctx, l, key, func(stored leasestore.Row) (leasestore.Row, bool, error) { return next, stored.Same(old), nil })
}

// A namedMeta is the meta row of a namespace with its exact name; the key has the name in lower
// case.
type namedMeta struct {
	Name string          `json:"name"`
	Meta leasestore.Meta `json:"meta"`
}

// CreateFree creates no rows: a KV writes one key at a time.
func (l *leases) CreateFree(ctx context.Context, _ []leasestore.Row, _ time.Duration) (bool, error) {
	return false, cmp.Or(l.err, ctx.Err())
}

func (l *leases) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	all, err := list[namedMeta](ctx, l, metas)
	if err != nil {
		return nil, err
	}
	found := make(map[string]leasestore.Meta, len(all))
	for _, m := range all {
		found[m.Name] = m.Meta
	}
	return found, nil
}

// LoadMeta returns the zero Meta if the namespace does not exist, also when there is another one
// whose name differs only in letter case.
func (l *leases) LoadMeta(ctx context.Context) (leasestore.Meta, error) {
	stored, _, err := get[namedMeta](ctx, l, l.metaKey())
	if err != nil || stored.Value.Name != l.namespace {
		return leasestore.Meta{}, err
	}
	return stored.Value.Meta, nil
}

// SwapMeta returns ErrOverlap instead of creating a namespace whose name differs from an
// existing one only in letter case.
func (l *leases) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	if _, err := l.startWrite(ctx); err != nil {
		return false, err
	}
	key := l.metaKey()
	if err := next.CheckTexts(); err != nil {
		return false, fmt.Errorf("kvassigner: key %s: %w", key, err)
	}
	return swap(ctx, l, key, func(stored namedMeta) (namedMeta, bool, error) {
		if stored.Name == l.namespace || stored.Name == "" {
			return namedMeta{l.namespace, next}, stored.Meta.Same(old), nil
		}
		return stored, false, fmt.Errorf("kvassigner: key %s: %w", key, leasestore.CheckNamespaceTwin(l.namespace, stored.Name))
	})
}

// explain names the store, marks an error that passes, and adds the end of the context, which the
// error of a KV need not mention. The action is empty for Status, whose caller names it.
func (l *leases) explain(ctx context.Context, action string, err error) error {
	if l.kv.Passes(err) {
		err = storecall.Away{Err: err}
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	if action != "" {
		action = "cannot " + action + ": "
	}
	return fmt.Errorf("kvassigner: %s: %s%w", l.about(), action, err)
}
