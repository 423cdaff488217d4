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
