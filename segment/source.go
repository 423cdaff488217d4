package segment

import (
	"context"
	"fmt"
	"log/slog"
	"math"

	"github.com/uidring/uidring/internal/check"
)

// A Source keeps named counters in a store that several processes share. The packages sqlassigner,
// redisassigner, etcdassigner and fileassigner have implementations; segmenttest tests others.
type Source interface {
	// Advance moves the counter name forward by n IDs, n at least 1, in one atomic step, and
	// returns the range of these n IDs. It creates a counter that does not exist, whose IDs begin
	// at 1, or returns an error.
	//
	// No two calls may ever return ranges that share an ID, in any process and after any crash of
	// the store. Advance therefore returns a range only when the new value of the counter is on
	// disk. If the answer of the store is lost, it returns an error and the range is wasted. Ranges
	// of one counter increase in the order of the calls. A counter that has no n IDs left returns
	// an error that wraps [ErrExhausted]. An error of a store that does not answer now is a
	// [net.Error], or has a method RetryAfter() time.Duration: New then asks again. Any number of
	// goroutines may call Advance at once. It returns soon after ctx ends.
	Advance(ctx context.Context, name string, n int64) (Range, error)
}

// A Range is an arithmetic progression of IDs: First, First+Increment, and so on up to Last.
type Range struct {
	First, Last int64 // First is at least 1
	// Increment is the distance of two IDs: 1, or the number of databases that share the numbers of
	// the counter. 0 counts as 1.
	Increment int64
}

// Len returns the number of IDs in the range.
func (r Range) Len() int64 { return (r.Last-r.First)/max(r.Increment, 1) + 1 }

// String returns the ends of the range, and its Increment if that is more than 1.
func (r Range) String() string {
	if r.Increment > 1 {
		return fmt.Sprintf("%d to %d in steps of %d", r.First, r.Last, r.Increment)
	}
	return fmt.Sprintf("%d to %d", r.First, r.Last)
}

// check returns an error for a range that no Source may return.
func (r Range) check() error {
	if r.First < 1 || r.Last < r.First || r.Increment < 0 || (r.Last-r.First)%max(r.Increment, 1) != 0 {
		return fmt.Errorf("%w: First %d, Last %d, Increment %d, allowed: First 1 or more, Last not below First, Increment 0 or more, "+
			"and whole steps of Increment between them", ErrInvalidRange, r.First, r.Last, r.Increment)
	}
	return nil
}

// Recover moves the counter name of a source forward until its next ID lies above the ID above, and
// skips all IDs up to there. Call it with the largest ID that was ever issued, or a larger one,
// after the store was restored from a backup or has lost commits in a failover, and before any
// process uses the counter. Several databases of one counter need a call each, with the same ID.
// It creates a counter that does not exist, and warns of that in slog.Default(): the name may be
// wrong.
func Recover(ctx context.Context, source Source, name string, above int64) error {
	c := &check.Checker{}
	c.Check(source != nil, "source", "nil", "any")
	c.Check(above >= 0 && above < math.MaxInt64, "above", above, "0 to %d", int64(math.MaxInt64-1))
	if err := c.Err(); err != nil {
		return err
	}
	for n, last := int64(1), int64(0); ; {
		r, err := source.Advance(ctx, name, n)
		if err != nil {
			return fmt.Errorf("segment: counter %q not recovered: %w", name, err)
		}
		if err := r.check(); err != nil {
			return err
		}
		if r.First <= last || r.Len() != n {
			return fmt.Errorf("%w: range %v after ID %d, want %d IDs above it", ErrInvalidRange, r, last, n)
		}
		delta := max(r.Increment, 1)
		if r.First <= delta {
			//mutate:argument the handler of the test calls String itself
			slog.Warn("segment: the counter is new", "counter", name, "range", r.String(),
				"remedy", "check the name: if the counter has another one, call segment.Recover with that")
		}
		last = r.Last
		if r.Last > above-delta {
			return nil // the next ID is Last+Increment or larger
		}
		n = (above - r.Last) / delta
	}
}
