//go:build !race

package defaultgen_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

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
