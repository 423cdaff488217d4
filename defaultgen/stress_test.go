package defaultgen_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Each ID is issued exactly once and none is left out: IDs of a unit are numbered without a gap.
func TestEveryIDIsIssuedExactlyOnce(t *testing.T) {
	const all = 64_000
	for _, goroutines := range []int{1, 2, 8, 64} {
		for perUnit, batch := range map[int64]int{1000: 1, 5000: 100} { // readings of the clock: units with IDs left, and used up
			cfg := complete(defaultgen.Config{Layout: bitsalloc.Snowflake(), SequenceStart: defaultgen.Zero})
			var reads atomic.Int64
			cfg.Now = func() time.Time { return cfg.Epoch.Add(time.Duration(10+reads.Add(1)/perUnit) * time.Millisecond) }
			for delta, sequences := range takeAll(t, open(t, cfg), goroutines, all/goroutines, batch) {
				if sequences[0] != 0 {
					t.Errorf("unit %d begins with sequence %d", delta, sequences[0])
				}
			}
		}
	}
}

// Many goroutines on the system's clock, in units so short that most callers meet a change.
func TestUnitsThatChangeUnderLoadIssueEachIDOnce(t *testing.T) {
	for i, goroutines := range []int{2, 8, 64} {
		g := open(t, defaultgen.Config{
			Epoch: time.Now().Add(-time.Duration(i+1) * time.Hour).Truncate(time.Second), SequenceStart: defaultgen.SequenceStart(i % 2),
			Layout: bitsalloc.Layout{DeltaBits: 40, WorkerBits: 4, SequenceBits: 16, Unit: time.Millisecond},
		})
		takeAll(t, g, goroutines, 200_000/goroutines, 1+3*i)
	}
}

func TestEveryPolicyHoldsUnderClocksThatDifferBetweenReaders(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		cfg := complete(defaultgen.Config{OnClockBack: policy})
		var reads atomic.Int64
		cfg.Now = func() time.Time { // forward by a unit every 64 readings, and to and fro by up to two
			n := reads.Add(1)
			return cfg.Epoch.Add(time.Duration(1000+n/64+n*7919%5-2) * time.Second)
		}
		g := open(t, cfg)
		var log gentest.Ledger
		testkit.Together(8, func(int) {
			for range 2000 {
				log.Take(t, g.Next, defaultgen.ErrClockBack, defaultgen.ErrSequenceExhausted)
			}
		})
		log.Check(t, 2000)
	}
}

// takeAll takes n IDs on each goroutine. IDs are above all that were returned before the call for
// them began, and the sequence numbers of each unit have neither a gap nor a duplicate. It returns
// these by unit.
func takeAll(t *testing.T, g *defaultgen.Generator, goroutines, n, batch int) map[int64][]int64 {
	t.Helper()
	var highest atomic.Int64
	taken := make([][]int64, goroutines)
	testkit.Together(goroutines, func(i int) {
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
