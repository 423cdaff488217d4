package redisassigner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
)

// namesKey is the key of a hash with the names of all namespaces. Its fields are the names in lower
// case, so that a name has one spelling. The key is not the key of a namespace, since names have no
// braces.
const namesKey = "{uidring}:namespaces"

// Namespace implements [assigner.Namespaced].
func (l *leases) Namespace() string { return l.namespace }

// Namespaces implements [assigner.Namespaced].
func (l *leases) Namespaces(ctx context.Context) (map[string]assigner.Meta, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	names, err := l.client.HGetAll(ctx, namesKey).Result()
	if err != nil {
		return nil, l.explain(ctx, "read "+namesKey, err)
	}
	answers := make(map[string]*redis.StringCmd)
	pipe := l.client.Pipeline()
	for _, name := range append(slices.Collect(maps.Values(names)), l.namespace) {
		answers[name] = pipe.HGet(ctx, hashKey(name), metaField)
	}
	_, _ = pipe.Exec(ctx) // each answer has its error
	metas := make(map[string]assigner.Meta)
	for name, answer := range answers {
		text, err := answer.Result()
		if errors.Is(err, redis.Nil) {
			continue // its creation was cut short, or it was deleted
		}
		if err != nil {
			return nil, l.explain(ctx, "read the meta row of "+hashKey(name), err)
		}
		if metas[name], err = decodeMeta(hashKey(name), text); err != nil {
			return nil, err
		}
	}
	return metas, nil
}

// register writes the name of the namespace into the hash of names and keeps the first spelling. Of
// two spellings that are created at once, register rejects the second. The hash may be on another
// server of a cluster, so register runs before the namespace is created: a name without a namespace
// does no harm.
func (l *leases) register(ctx context.Context) error {
	if err := l.ready(ctx); err != nil {
		return err
	}
	folded := assigner.FoldNamespace(l.namespace)
	pipe := l.client.Pipeline()
	pipe.HSetNX(ctx, namesKey, folded, l.namespace)
	stored := pipe.HGet(ctx, namesKey, folded)
	if _, err := pipe.Exec(ctx); err != nil {
		return l.explain(ctx, "write its name to "+namesKey, err)
	}
	if err := assigner.CheckNamespaceTwin(l.namespace, stored.Val()); err != nil {
		return fmt.Errorf("redisassigner: hash %s: %w; names are in %s", l.key, err, namesKey)
	}
	return nil
}
