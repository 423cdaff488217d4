//go:build !race

package defaultgen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
)

// Irregular gaps are drawn, with the pace for their mean.
func TestByDefaultIDsSpreadOverShardsAsInAFairDraw(t *testing.T) {
	const ms = time.Millisecond
	for _, layout := range gentest.Sharded {
		for _, pace := range []time.Duration{10 * ms, 33 * ms, 100 * ms, 700 * ms, 1000 * ms, 1500 * ms, 2000 * ms, 7000 * ms, 10_000 * ms, 13_000 * ms,
			31_000 * ms, time.Minute, 5 * time.Minute, time.Hour, 75_025_000 * ms, 24 * time.Hour} {
			for _, drawn := range []bool{false, true} {
				t.Run(fmt.Sprintf("layout %v, one ID in %v, drawn %v", layout, pace, drawn), func(t *testing.T) {
					random := rand.New(rand.NewPCG(1, uint64(pace)))
					g, clock := onFakeClock(t, defaultgen.Config{Layout: layout, Assigner: forever(1)})
					gentest.CheckShards(t, 64, func() (int64, error) {
						gap := pace
						if drawn {
							gap = time.Duration(float64(pace) * random.ExpFloat64())
						}
						clock.Advance(gap)
						return g.Next()
					})
				})
			}
		}
	}
}

// A unit has all its numbers after a unit that has issued more than half, and five eighths
// otherwise.
func TestEvenCostsABusyGeneratorNothing(t *testing.T) {
	const all = 1 << 10
	layout := bitsalloc.Layout{DeltaBits: 40, WorkerBits: 10, SequenceBits: 10, Unit: time.Second}
	for _, quiet := range []int{1, 2, 7, 8, 100, all / 2, all/2 + 1, all * 5 / 8} {
		g, clock := onFakeClock(t, defaultgen.Config{Layout: layout})
		ids := make([]int64, all+1)
		shortened := 0
		for range 300 {
			fill(t, g, quiet)
			clock.Advance(time.Second)
			for round := range 3 {
				n, err := g.Fill(ids)
				least := all
				if round == 0 && quiet <= all/2 {
					least = all * 5 / 8
				}
				if round == 0 && n < all {
					shortened++
				}
				if n < least || n > all || !errors.Is(err, defaultgen.ErrSequenceExhausted) {
					t.Fatalf("%d IDs, %v in unit %d after one of %d, want %d at least", n, err, round, quiet, least)
				}
				clock.Advance(time.Second)
			}
			for range 10 { // quiet again, to begin elsewhere
				next(t, g)
				clock.Advance(time.Second)
			}
		}
		if (shortened > 200) != (quiet <= all/2) {
			t.Errorf("%d of 300 units began above 0 after a unit of %d IDs", shortened, quiet)
		}
	}
}
