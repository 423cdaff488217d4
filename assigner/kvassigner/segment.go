package kvassigner

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
)

// SegmentConfig configures a [SegmentSource]. It has no options yet: use its zero value.
type SegmentConfig struct{}

// SegmentSource returns a source for package segment that keeps its counters in kv, under the keys
// segment/…: the largest ID given out. The store must keep all acknowledged writes: unlike leases,
// ranges have no quarantine that makes up for lost ones. After a restore call [segment.Recover]
// before any process uses the counter. A write that the client sends twice may waste a range.
//
// The name of a counter has 1 to 64 characters: letters, digits, dot, underscore and hyphen. Any
// number of goroutines may use the source at once.
func SegmentSource(kv KV, _ SegmentConfig) segment.Source {
	return counters{LeaseStore(kv, "segment", Config{}).(*leases)}
}

type counters struct{ store *leases }

func (c counters) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	err := leasestore.CheckNamespace(name)
	if n < 1 {
		err = errors.Join(err, fmt.Errorf("%d IDs, allowed: 1 or more", n))
	}
	if err != nil {
		return segment.Range{}, fmt.Errorf("kvassigner: counter %q: %w", name, err)
	}
	var last int64
	_, err = swap(ctx, c.store, "segment/"+name, func(stored int64) (int64, bool, error) {
		if n > math.MaxInt64-stored {
			return 0, false, fmt.Errorf("%w: counter %q of %s has reached %d, allowed: 1 to %d", segment.ErrExhausted, name, c.store.about(), stored, int64(math.MaxInt64))
		}
		last = stored + n
		return last, true, nil
	})
	if err != nil {
		return segment.Range{}, err
	}
	return segment.Range{First: last - n + 1, Last: last, Increment: 1}, nil
}
