package etcdassigner

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
)

// LeaseStore returns the store of a namespace, for [assigner.Leased], [assigner.Auto] and
// [assigner.Fenced]:
//
//	numbers := assigner.Leased(etcdassigner.LeaseStore(client, "orders"), assigner.LeaseConfig{})
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. Services whose
// IDs meet in one table or message use the same namespace. A name that differs from an existing
// namespace only in letter case is rejected with [assigner.ErrWorkerOverlap]. The store implements
// [assigner.Namespaced]. Its keys are
//
//   - uidring/meta/orders, the meta row; the name is in lower case here;
//   - uidring/worker/orders/0000000000000000007, the row of worker 7;
//   - uidring/seen/orders, the time of the last write;
//   - uidring/life/orders, which shows a restore of the cluster.
//
// The keys have no etcd lease and are never deleted.
//
// The store returns an error when a write may have taken effect, and does not retry it. The caller
// closes the client. Without a deadline a call may wait for a server as long as the client does.
//
// Any number of goroutines may use the store at once.
func LeaseStore(client *clientv3.Client, namespace string) assigner.Store {
	l := &leases{client: client, err: assigner.CheckNamespace(namespace), namespace: namespace}
	if client == nil {
		l.err = errors.Join(errors.New("etcdassigner: client is nil, allowed: any"), l.err)
	}
	return l
}

type leases struct {
	client    *clientv3.Client
	err       error // of the arguments of LeaseStore
	namespace string
}

// Status reads with confirmation by a majority, which a member that is cut off cannot get.
func (l *leases) Status(ctx context.Context) (assigner.Status, error) {
	if l.err != nil {
		return assigner.Status{}, l.err
	}
	answer, err := l.client.Get(ctx, l.seenKey())
	if err != nil {
		return assigner.Status{}, l.explain(ctx, "read the status of the cluster", err)
	}
	seen, err := decode[time.Time](answer.Kvs...)
	if err != nil {
		return assigner.Status{}, err
	}
	identity, err := identity(ctx, l.client, l.lifeKey())
	if err != nil {
		return assigner.Status{}, l.explain(ctx, "read the identity of the cluster", err)
	}
	return assigner.Status{Now: time.Now(), Seen: seen.Value, Identity: identity}, nil
}

func (l *leases) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	return load[assigner.Row](ctx, l, l.rowKey(workerID))
}

func (l *leases) List(ctx context.Context) (list []assigner.Row, err error) {
	if l.err != nil {
		return nil, l.err
	}
	for row, err := range l.rows(ctx, l.workers(), end(l.workers()), page) {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Swap sets the expiry by the clock of this host, since etcd does not report its own.
func (l *leases) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	if err := checkTexts(l.rowKey(next.WorkerID), next.Token, next.Owner, next.Holder, next.Identity); err != nil {
		return false, err
	}
	next.Expires = time.Now().Add(ttl).UTC()
	return swap(ctx, l, l.rowKey(next.WorkerID), next, func(stored assigner.Row) (bool, error) {
		return stored.Version == old.Version && stored.Fence == old.Fence && stored.Token == old.Token, nil
	})
}

func (l *leases) explain(ctx context.Context, what string, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return fmt.Errorf("etcdassigner: cannot %s: %w", what, err)
}
