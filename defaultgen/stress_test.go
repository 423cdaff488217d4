package defaultgen_test

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Each ID is issued exactly once and none is left out: IDs of a unit are numbered without a gap.
func TestEveryIDIsIssuedExactlyOnce(t *testing.T) {
	const all = 64_000
	for _, goroutines := range []int{1, 2, 8, 64} {
		for perUnit, batch := range map[int64]int{1000: 1, 5000: 100} { // readings of the clock: units with IDs left, and used up
			cfg := complete(defaultgen.Config{Layout: bitsalloc.Snowflake()})
			var reads atomic.Int64
			cfg.Now = func() time.Time { return cfg.Epoch.Add(time.Duration(10+reads.Add(1)/perUnit) * time.Millisecond) }
			takeAll(t, open(t, cfg), goroutines, all/goroutines, batch)
		}
	}
}

// Callers that take a long unit at once do not move its counter beyond the largest number.
func TestOneTakeIsBounded(t *testing.T) {
	g, _ := onFakeClock(t, defaultgen.Config{Layout: bitsalloc.Layout{DeltaBits: 10, WorkerBits: 3, SequenceBits: 50, Unit: time.Second}})
	if _, got, err := g.Reserve(math.MaxInt); int64(got) > 1<<40 || err != nil {
		t.Errorf("Reserve gives %d IDs, %v", got, err)
	}
}

// Many goroutines on the system's clock, in units so short that most callers meet a change.
func TestUnitsThatChangeUnderLoadIssueEachIDOnce(t *testing.T) {
	for i, goroutines := range []int{2, 8, 64} {
		g := open(t, defaultgen.Config{
			Epoch:  time.Now().Add(-time.Duration(i+1) * time.Hour).Truncate(time.Second),
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
		var log idset.Ledger
		testkit.Together(8, func(int) {
			for range 2000 {
				if err := log.Next(t, g.Next); err != nil && !passes(err) {
					t.Error(err)
				}
			}
		})
		if log.Len() < 2000 {
			t.Errorf("%d IDs, want 2000 at least", log.Len())
		}
	}
}

func passes(err error) bool {
	return errors.Is(err, defaultgen.ErrSequenceExhausted) || errors.Is(err, defaultgen.ErrClockBack)
}

// takeAll takes n IDs on each goroutine. The IDs of each unit have neither a gap nor a duplicate,
// and begin with 0 or at the scattered number of 12 bits or more.
func takeAll(t *testing.T, g *defaultgen.Generator, goroutines, n, batch int) {
	t.Helper()
	var ledger idset.Ledger
	taken := make([][]int64, goroutines)
	testkit.Together(goroutines, func(i int) {
		ids := make([]int64, batch)
		for len(taken[i]) < n {
			if _, err := ledger.Take(t, func() ([]int64, error) {
				got, err := g.Fill(ids)
				taken[i] = append(taken[i], ids[:got]...)
				return ids[:got], err
			}); err != nil && !passes(err) {
				t.Error(err)
				return
			}
		}
	})
	all := slices.Concat(taken...)
	slices.Sort(all)
	delta := int64(0)
	for i, id := range all {
		if i > 0 && id == all[i-1]+1 {
			continue
		}
		f := gentest.ParseID(t, g, id)
		if f.Delta == delta || f.Sequence != 0 && f.Sequence != generator.Scatter(id-f.Sequence, 12) {
			t.Fatalf("%v after %d", f, all[max(i, 1)-1])
		}
		delta = f.Delta
	}
}
