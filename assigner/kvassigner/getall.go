package kvassigner

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// atOnce is the largest number of calls that GetAll makes at once.
const atOnce = 64

// GetAll calls get for each key, up to 64 times at once, and returns the entries that exist. A KV
// whose store lists names without values implements List with it. It returns the first error of
// get, and then cancels the context of the other calls.
func GetAll(ctx context.Context, keys []string, get func(ctx context.Context, key string) (value []byte, revision string, err error)) ([]Entry, error) {
	all := make([]Entry, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, key := range keys {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			value, revision, err := get(ctx, key)
			if err == nil && revision != "" {
				all[i] = Entry{Key: key, Value: value}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Key == "" }), nil
}
