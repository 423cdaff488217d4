package kvassigner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// LeaseStore returns the store of a namespace, for [assigner.Leased], [assigner.Auto] and
// [assigner.Fenced]. A namespace has 1 to 64 characters: letters, digits, dot, underscore and
// hyphen. A name that differs from an existing namespace only in letter case is rejected with
// [leasestore.ErrOverlap]. The store implements [leasestore.Namespaced]. Its methods return the
// mistakes in the arguments of LeaseStore, and wrap the errors of kv.
//
// Any number of goroutines may use the store at once.
func LeaseStore(kv KV, namespace string) leasestore.Store {
	l := &leases{kv: kv, err: leasestore.CheckNamespace(namespace), namespace: namespace}
	l.block.Store(rand.Uint64())
	if c, ok := kv.(Checker); ok {
		l.err = errors.Join(c.Check(namespace), l.err)
	}
	if kv == nil {
		l.err = errors.Join(errors.New("kvassigner: kv is nil, allowed: any"), l.err)
	}
	return l
}

type leases struct {
	kv        KV
	err       error // of the arguments of LeaseStore
	namespace string
	clock     clock
	block     atomic.Uint64 // where the next call of Expired starts
}

// String names the store in log records.
func (l *leases) String() string { return fmt.Sprintf("%s, namespace %q", l.about(), l.namespace) }

// about names the server and the place of its keys.
func (l *leases) about() string {
	if s, ok := l.kv.(fmt.Stringer); ok && l.err == nil {
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
	timeless := status.Now.IsZero()
	if timeless {
		seen, _, err := get[time.Time](ctx, l, l.seenKey())
		if err != nil {
			return leasestore.Status{}, err
		}
		status.Now, status.Seen = time.Now(), seen.Value
	}
	l.clock.set(status.Now, timeless)
	return status, nil
}

func (l *leases) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	stored, _, err := get[leasestore.Row](ctx, l, l.rowKey(workerID))
	return stored.Value, err
}

func (l *leases) List(ctx context.Context) ([]leasestore.Row, error) {
	return list[leasestore.Row](ctx, l, l.workers())
}

func (l *leases) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	now, err := l.startWrite(ctx)
	if err != nil {
		return false, err
	}
	next.Expires = now.Add(ttl).UTC()
	key := l.rowKey(next.WorkerID)
	if err := checkTexts(key, next.Token, next.Owner, next.Holder, next.Identity); err != nil {
		return false, err
	}
	return swap(ctx, l, key, next, func(stored leasestore.Row) (bool, error) { return stored.Same(old), nil })
}

// explain names the store, and adds the end of the context, which the error of a KV need not
// mention. The action is empty for Status, whose caller names it.
func (l *leases) explain(ctx context.Context, action string, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	if action != "" {
		action = "cannot " + action + ": "
	}
	return fmt.Errorf("kvassigner: %s: %s%w", l.about(), action, err)
}
