package defaultgen_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/together"
)

// Each ID is issued exactly once and none is left out: IDs of a unit are numbered without a gap.
func TestEveryIDIsIssuedExactlyOnce(t *testing.T) {
	const all = 64_000
	for _, goroutines := range []int{1, 2, 8, 64} {
		for _, perUnit := range []int64{1000, 5000} { // readings of the clock: units with IDs left, and used up
			for _, batch := range []int{1, 100} {
				t.Run(fmt.Sprintf("%d goroutines, %d readings, batches of %d", goroutines, perUnit, batch), func(t *testing.T) {
					cfg := complete(defaultgen.Config{Layout: bitsalloc.Snowflake(), SequenceStart: defaultgen.Zero})
					var reads atomic.Int64
					cfg.Now = func() time.Time { return cfg.Epoch.Add(time.Duration(10+reads.Add(1)/perUnit) * time.Millisecond) }
					for delta, sequences := range takeAll(t, open(t, cfg), goroutines, all/goroutines, batch) {
						if sequences[0] != 0 {
							t.Errorf("unit %d begins with sequence %d", delta, sequences[0])
						}
					}
				})
			}
		}
	}
}

// takeAll takes n IDs on each goroutine. IDs are above all that were returned before the call for
// them began, and the sequence numbers of each unit have neither a gap nor a duplicate. It returns
// these by unit.
func takeAll(t *testing.T, g *defaultgen.Generator, goroutines, n, batch int) map[int64][]int64 {
	t.Helper()
	var highest atomic.Int64
	taken := make([][]int64, goroutines)
	together.Run(goroutines, func(i int) {
		ids := make([]int64, batch)
		for len(taken[i]) < n {
			before := highest.Load()
			got, err := g.Fill(ids)
			if err != nil && !errors.Is(err, defaultgen.ErrSequenceExhausted) && !errors.Is(err, defaultgen.ErrClockBack) {
				t.Error(err)
				return
			}
			for _, id := range ids[:got] {
				if id <= before {
					t.Errorf("ID %d, but %d was returned before", id, before)
					return
				}
				before = id
			}
			for high := highest.Load(); before > high && !highest.CompareAndSwap(high, before); high = highest.Load() {
			}
			taken[i] = append(taken[i], ids[:got]...)
		}
	})
	perUnit := make(map[int64][]int64)
	for _, id := range slices.Concat(taken...) {
		f := parse(t, g, id)
		perUnit[f.Delta] = append(perUnit[f.Delta], f.Sequence)
	}
	for delta, sequences := range perUnit {
		slices.Sort(sequences)
		for i, sequence := range sequences {
			if sequence != sequences[0]+int64(i) {
				t.Fatalf("unit %d: sequence %d after %d", delta, sequence, sequences[i-1])
			}
		}
	}
	return perUnit
}
