package etcdassigner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/namespace"
)

// Leases returns the store of a namespace, for [assigner.Leased], [assigner.Auto] and [assigner.Fenced]:
//
//	numbers := assigner.Leased(etcdassigner.Leases(client, "orders"), assigner.LeaseConfig{})
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen; a and A are two
// namespaces. Services whose IDs meet use the same one. Its keys begin with uidring/orders/, which the user of the
// client must be allowed to read and write. They have no lease of etcd and are never deleted.
//
// A change that may have taken effect is an error, and not made again. The client stays its owner's: nothing here closes
// it. A call without a deadline may wait for a server for as long as the client does.
//
// Any number of goroutines may use the store at once.
func Leases(client *clientv3.Client, namespace string) assigner.Store {
	l := &leases{client: client, err: checkNamespace(namespace), prefix: "uidring/" + namespace + "/"}
	if client == nil {
		l.err = errors.Join(errors.New("etcdassigner: client nil, allowed: any"), l.err)
	}
	return l
}

type leases struct {
	client *clientv3.Client
	err    error  // what is wrong with the arguments of Leases
	prefix string // of all keys
}

func (l *leases) metaKey() string { return l.prefix + "meta" }

// workers begins the keys of rows.
func (l *leases) workers() string { return l.prefix + "worker/" }

func (l *leases) rowKey(workerID int64) string { return l.workers() + strconv.FormatInt(workerID, 10) }

func checkNamespace(name string) error {
	if err := namespace.Check(name); err != nil {
		return fmt.Errorf("etcdassigner: %w", err)
	}
	return nil
}

// Status asks for a read that a majority confirms: a member that is cut off gives none.
func (l *leases) Status(ctx context.Context) (assigner.Status, error) {
	if l.err != nil {
		return assigner.Status{}, l.err
	}
	answer, err := l.client.Get(ctx, l.metaKey(), clientv3.WithCountOnly())
	if err != nil {
		return assigner.Status{}, l.explain(ctx, "look at the cluster", err)
	}
	return assigner.Status{Now: time.Now(), Identity: fmt.Sprintf("cluster %x", answer.Header.ClusterId)}, nil
}

func (l *leases) LoadMeta(ctx context.Context) (assigner.Meta, error) {
	return load[assigner.Meta](ctx, l, l.metaKey())
}

func (l *leases) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	if err := checkTexts(l.metaKey(), next.Namespace, next.Token, next.Identity); err != nil {
		return false, err
	}
	return swap(ctx, l, l.metaKey(), next, func(stored assigner.Meta) bool { return stored.Version == old.Version && stored.Token == old.Token })
}

func (l *leases) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	return load[assigner.Row](ctx, l, l.rowKey(workerID))
}

// List reads the rows in pages, each of its own moment. That will do, since rows are never deleted, and a claim compares what
// it was read with.
func (l *leases) List(ctx context.Context) (rows []assigner.Row, err error) {
	if l.err != nil {
		return nil, l.err
	}
	const page = 1000
	from, end := l.workers(), clientv3.GetPrefixRangeEnd(l.workers())
	for {
		answer, err := l.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page))
		if err != nil {
			return nil, l.explain(ctx, "list "+l.workers(), err)
		}
		for _, kv := range answer.Kvs {
			r, err := decode[assigner.Row](kv)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r.Value)
		}
		if !answer.More {
			return rows, nil
		}
		from = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
	}
}

func (l *leases) Expired(ctx context.Context, n int) ([]assigner.Row, error) {
	rows, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	rows = slices.DeleteFunc(rows, func(r assigner.Row) bool { return r.Expires.After(now) })
	return rows[:min(n, len(rows))], nil
}

// Swap takes the time from the clock of this host: etcd shows none.
func (l *leases) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	if err := checkTexts(l.rowKey(next.WorkerID), next.Token, next.Owner, next.Holder, next.Identity); err != nil {
		return false, err
	}
	next.Expires = time.Now().Add(ttl).UTC()
	return swap(ctx, l, l.rowKey(next.WorkerID), next, func(stored assigner.Row) bool {
		return stored.Version == old.Version && stored.Fence == old.Fence && stored.Token == old.Token
	})
}

func (l *leases) explain(ctx context.Context, what string, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return fmt.Errorf("etcdassigner: cannot %s: %w", what, err)
}
