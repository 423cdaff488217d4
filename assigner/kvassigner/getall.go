package kvassigner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// atOnce is the largest number of calls that GetAll makes at once.
const atOnce = 64

// GetAll calls get for each key, up to 64 times at once, and returns the entries that exist. A KV
// whose store lists names without values implements List with it. It returns the first error of
// get, and then cancels the context of the other calls.
func GetAll(ctx context.Context, keys []string, get func(ctx context.Context, key string) (value []byte, revision string, err error)) ([]Entry, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found := make([]Entry, len(keys))
	var next atomic.Int64
	var calls sync.WaitGroup
	for range min(atOnce, len(keys)) {
		calls.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				value, revision, err := get(ctx, keys[i])
				switch {
				case err != nil:
					cancel(err)
				case revision != "":
					found[i] = Entry{Key: keys[i], Value: value}
				}
			}
		})
	}
	calls.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slices.DeleteFunc(found, func(e Entry) bool { return e.Key == "" }), nil
}
