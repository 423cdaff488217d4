//go:build !race

package defaultgen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// checkSpread takes 16,000 IDs with these gaps between them. No shard, by ID modulo the number of
// shards, may be off its share, as counting from 0 gives it, by more IDs than allowed.
func checkSpread(t *testing.T, layout bitsalloc.Layout, gap func() time.Duration, allowed map[int64]int) {
	t.Helper()
	cfg := complete(defaultgen.Config{Layout: layout, Assigner: forever(1)})
	clock := newFakeClock(cfg.Epoch.Add(time.Hour))
	cfg.Now = clock.now
	g := open(t, cfg)
	ids := make([]int64, 16_000)
	for i := range ids {
		ids[i] = next(t, g).ID
		clock.move(gap())
	}
	for shards, allowed := range allowed {
		got := make([]int, shards)
		for _, id := range ids {
			got[id%shards]++
		}
		least, most := len(ids)/int(shards), (len(ids)+int(shards)-1)/int(shards)
		if slices.Min(got) < least-allowed || slices.Max(got) > most+allowed {
			t.Errorf("%d shards got %d to %d IDs, want %d to %d, and at most %d off", shards, slices.Min(got), slices.Max(got), least, most, allowed)
		}
	}
}

// At each pace, regular or not, IDs spread over shards as a fair draw would spread them, or better:
// the limits are four standard deviations. Irregular gaps are drawn, with the pace for their mean.
func TestByDefaultIDsSpreadOverShardsAsInAFairDraw(t *testing.T) {
	wide := bitsalloc.Layout{DeltaBits: 31, DatacenterBits: 2, WorkerBits: 17, SequenceBits: 13, Unit: time.Second}
	allowed := map[int64]int{2: 253, 3: 238, 10: 151, 16: 122, 64: 63}
	const ms = time.Millisecond
	for _, row := range []struct {
		layout bitsalloc.Layout
		drawn  bool
		paces  []time.Duration
	}{
		{bitsalloc.Default(), false, []time.Duration{4 * time.Hour, 5 * time.Minute, 13_000 * ms, 10_000 * ms, 7000 * ms, 3000 * ms, 2500 * ms, 1500 * ms, 1000 * ms}},
		{wide, false, []time.Duration{24 * time.Hour, 86_399_000 * ms, 8 * time.Hour}},
		{bitsalloc.Snowflake(), false, []time.Duration{24 * time.Hour, time.Minute, 1000 * ms, 33 * ms, 7 * ms, 3 * ms, 2 * ms, ms}},
		{bitsalloc.Default(), false, []time.Duration{700 * ms, 100 * ms, 10 * ms, 300 * time.Microsecond}},
		{bitsalloc.Default(), true, []time.Duration{time.Hour, 3000 * ms, 1000 * ms, 700 * ms, 100 * ms, 10 * ms, 300 * time.Microsecond}},
	} {
		for _, pace := range row.paces {
			t.Run(fmt.Sprintf("layout %v, one ID in %v, drawn %v", row.layout, pace, row.drawn), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(pace)))
				checkSpread(t, row.layout, func() time.Duration {
					if row.drawn {
						return time.Duration(float64(pace) * random.ExpFloat64())
					}
					return pace
				}, allowed)
			})
		}
	}
}

// A unit has all its numbers after a unit that has issued more than half, and three quarters
// otherwise.
func TestEvenCostsABusyGeneratorNothing(t *testing.T) {
	const all = 1 << 10
	layout := bitsalloc.Layout{DeltaBits: 40, WorkerBits: 10, SequenceBits: 10, Unit: time.Second}
	for _, quiet := range []int{1, 2, 7, 8, 100, all / 2, all/2 + 1, all * 3 / 4} {
		g, clock := onFakeClock(t, defaultgen.Config{Layout: layout})
		ids := make([]int64, all+1)
		for range 300 {
			fill(t, g, quiet)
			clock.move(time.Second)
			for round := range 3 {
				n, err := g.Fill(ids)
				least := all
				if round == 0 && quiet <= all/2 {
					least = all * 3 / 4
				}
				if n < least || n > all || !errors.Is(err, defaultgen.ErrSequenceExhausted) {
					t.Fatalf("%d IDs, %v in unit %d after one of %d, want %d at least", n, err, round, quiet, least)
				}
				clock.move(time.Second)
			}
			for range 10 { // quiet again, to begin elsewhere
				next(t, g)
				clock.move(time.Second)
			}
		}
	}
}
