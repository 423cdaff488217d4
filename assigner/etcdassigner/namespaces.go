package etcdassigner

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
)

// A namedMeta is the meta row of a namespace with its exact name; the key has the name in lower
// case.
type namedMeta struct {
	Name string
	Meta assigner.Meta
}

// Namespace implements [assigner.Namespaced].
func (l *leases) Namespace() string { return l.namespace }

// Namespaces implements [assigner.Namespaced].
func (l *leases) Namespaces(ctx context.Context) (map[string]assigner.Meta, error) {
	if l.err != nil {
		return nil, l.err
	}
	answer, err := l.client.Get(ctx, metas, clientv3.WithPrefix())
	if err != nil {
		return nil, l.explain(ctx, "list "+metas, err)
	}
	found := make(map[string]assigner.Meta)
	for _, kv := range answer.Kvs {
		r, err := decode[namedMeta](kv)
		if err != nil {
			return nil, err
		}
		found[r.Value.Name] = r.Value.Meta
	}
	return found, nil
}

// LoadMeta returns the zero Meta if the namespace does not exist, also when there is another one
// whose name differs only in letter case.
func (l *leases) LoadMeta(ctx context.Context) (assigner.Meta, error) {
	stored, err := load[namedMeta](ctx, l, l.metaKey())
	if err != nil || stored.Name != l.namespace {
		return assigner.Meta{}, err
	}
	return stored.Meta, nil
}

// SwapMeta returns ErrWorkerOverlap instead of creating a namespace whose name differs from an
// existing one only in letter case.
func (l *leases) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	key := l.metaKey()
	if err := checkTexts(key, next.Namespace, next.Token, next.Identity); err != nil {
		return false, err
	}
	holds := func(stored namedMeta) (bool, error) {
		if stored.Name == l.namespace || stored.Name == "" {
			return stored.Meta.Version == old.Version && stored.Meta.Token == old.Token, nil
		}
		if old != (assigner.Meta{}) {
			return false, nil
		}
		return false, fmt.Errorf("etcdassigner: key %s: %w", key, assigner.CheckNamespaceTwin(l.namespace, stored.Name))
	}
	return swap(ctx, l, key, namedMeta{l.namespace, next}, holds)
}
