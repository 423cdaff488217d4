package kvassigner

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/assigner/leasestore"
)

// metas is the prefix of the keys of all meta rows, and of no other keys.
const metas = "meta/"

// A namedMeta is the meta row of a namespace with its exact name; the key has the name in lower
// case.
type namedMeta struct {
	Name string
	Meta leasestore.Meta
}

// Namespace implements [leasestore.Namespaced].
func (l *leases) Namespace() string { return l.namespace }

// Namespaces implements [leasestore.Namespaced].
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
	if err := checkTexts(key, next.Namespace, next.Token, next.Identity); err != nil {
		return false, err
	}
	return swap(ctx, l, key, namedMeta{l.namespace, next}, func(stored namedMeta) (bool, error) {
		switch {
		case stored.Name == l.namespace || stored.Name == "":
			return stored.Meta.Same(old), nil
		case old != (leasestore.Meta{}):
			return false, nil
		}
		return false, fmt.Errorf("kvassigner: key %s: %w", key, leasestore.CheckNamespaceTwin(l.namespace, stored.Name))
	})
}
