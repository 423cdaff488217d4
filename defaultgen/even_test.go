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

// At each pace that is regular and not above one ID a unit, IDs spread over shards as counting
// would spread them: exactly for powers of two, within 2 % for the others.
func TestByDefaultIDsSpreadOverShardsAsCountingWould(t *testing.T) {
	for layout, paces := range map[bitsalloc.Layout][]time.Duration{
		bitsalloc.Default(): {4 * time.Hour, 5 * time.Minute, 13 * time.Second, 10 * time.Second, 7 * time.Second, 3 * time.Second,
			2500 * time.Millisecond, 1500 * time.Millisecond, time.Second},
		{DeltaBits: 31, DatacenterBits: 2, WorkerBits: 17, SequenceBits: 13, Unit: time.Second}: {24 * time.Hour, 86_399 * time.Second, 8 * time.Hour},
		bitsalloc.Snowflake(): {24 * time.Hour, time.Minute, time.Second, 33 * time.Millisecond, 7 * time.Millisecond, 3 * time.Millisecond,
			2 * time.Millisecond, time.Millisecond},
	} {
		for _, pace := range paces {
			t.Run(fmt.Sprintf("layout %v, one ID in %v", layout, pace), func(t *testing.T) {
				gap := func() time.Duration { return pace }
				checkSpread(t, layout, gap, map[int64]int{2: 0, 16: 0, 64: 0, 1024: 0, 3: 106, 10: 32})
			})
		}
	}
}

// At higher paces, regular or not, powers of two up to 64 are exactly even still. Irregular gaps
// are drawn, with the pace for their mean. The limits are four standard deviations of a fair draw.
func TestByDefaultIDsSpreadOverShardsAtAnyPace(t *testing.T) {
	for _, pace := range []time.Duration{
		time.Hour, 3 * time.Second, time.Second, 700 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond, 300 * time.Microsecond,
	} {
		random := rand.New(rand.NewPCG(1, uint64(pace)))
		for name, gap := range map[string]func() time.Duration{
			"regular": func() time.Duration { return pace },
			"drawn":   func() time.Duration { return time.Duration(float64(pace) * random.ExpFloat64()) },
		} {
			t.Run(fmt.Sprintf("one ID in %v, %s", pace, name), func(t *testing.T) {
				checkSpread(t, bitsalloc.Default(), gap, map[int64]int{2: 0, 16: 0, 64: 0, 3: 238, 10: 151})
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

// A unit begins after the last number of the unit before, and a stride further ahead after a unit
// of few IDs.
func TestEvenBeginsAStrideAheadAfterFewIDs(t *testing.T) {
	for bits, want := range map[uint8][]int64{1: {0, 0, 0}, 4: {0, 1, 2}, 10: {0, 1 + 8, 1 + 8 + 1 + 2*8}, 13: {0, 1 + 64, 1 + 64 + 1 + 2*64}, 20: {0, 1 + 64, 1 + 64 + 1 + 2*64}} {
		g, clock := onFakeClock(t, defaultgen.Config{Layout: bitsalloc.Layout{DeltaBits: 40, WorkerBits: 3, SequenceBits: bits, Unit: time.Second}})
		for _, want := range want {
			if f := next(t, g); f.Sequence != want {
				t.Errorf("%d bits: a unit begins with %d, want %d", bits, f.Sequence, want)
			}
			clock.move(time.Second)
		}
	}
}
