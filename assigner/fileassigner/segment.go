package fileassigner

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
)

// SegmentConfig configures a [SegmentSource].
type SegmentConfig struct {
	// AllowUndurable accepts a folder on a network file system or in memory, which may forget
	// ranges; they are then issued twice.
	AllowUndurable bool
}

// SegmentSource returns a source for package segment that keeps its counters in the folder dir, for
// the processes of one host:
//
//	source := fileassigner.SegmentSource("/var/lib/orders/counters", fileassigner.SegmentConfig{})
//
// A [LeaseStore] may use the same folder. The name of a counter has 1 to 64 characters: letters,
// digits, dot, underscore and hyphen. A call returns [leasestore.ErrNotDurable] if the folder is
// on a network file system or in memory (tmpfs), and [leasestore.ErrDamaged] if the folder was
// replaced since the first call; a copy of the folder issues the same IDs as the original.
//
// SegmentSource does not access the folder; each call opens it. A relative dir stays in the working
// directory of this call. Any number of goroutines may use the source at once.
func SegmentSource(dir string, cfg SegmentConfig) segment.Source {
	return &counters{leases{dir: absolute(dir)}, cfg}
}

type counters struct {
	leases
	cfg SegmentConfig
}

func (c *counters) Advance(ctx context.Context, name string, n int64) (r segment.Range, err error) {
	if err := leasestore.CheckNamespace(name); err != nil {
		return r, c.errorf("counter: %w", err)
	}
	if n < 1 {
		return r, c.errorf("%d IDs of counter %q, allowed: 1 or more", n, name)
	}
	err = c.locked(ctx, func(f *folder) error {
		switch faults, err := c.faults(); {
		case err != nil:
			return err
		case len(faults) > 0 && !c.cfg.AllowUndurable:
			return fmt.Errorf("%w: %s: it may forget ranges and hand them out again; use a local disk, or set "+
				"SegmentConfig.AllowUndurable", leasestore.ErrNotDurable, strings.Join(faults, ", "))
		}
		next := max(f.state.Counters[name], 1)
		if n > math.MaxInt64-next {
			return fmt.Errorf("%w: counter %q has reached %d, allowed: 1 to %d", segment.ErrExhausted, name, next, int64(math.MaxInt64))
		}
		if f.state.Counters == nil {
			f.state.Counters = make(map[string]int64)
		}
		f.state.Counters[name] = next + n
		r = segment.Range{First: next, Last: next + n - 1, Increment: 1}
		return f.write()
	})
	if err != nil {
		return segment.Range{}, err
	}
	return r, nil
}
