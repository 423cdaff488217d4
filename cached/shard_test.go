//go:build !race

package cached_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Lanes and rings of other sizes are tested where an ID is cheap, at a fast pace.
func TestIDsSpreadEvenlyOverShardsAtAnyPace(t *testing.T) {
	for _, layout := range gentest.Sharded {
		for _, every := range []time.Duration{time.Second, 2 * time.Second, 10 * time.Second, 31 * time.Second, 5 * time.Minute, time.Hour} {
			for _, boost := range []int{1, 3, 8} {
				for name, take := range map[string]func(*cached.Generator) func() (int64, error){
					"Next":   func(g *cached.Generator) func() (int64, error) { return g.Next },
					"a lane": func(g *cached.Generator) func() (int64, error) { return g.Lane().Next },
					"a lane for each ID": func(g *cached.Generator) func() (int64, error) {
						return func() (int64, error) { return g.Lane().Next() }
					},
				} {
					if (boost != 3 || name != "Next" || testing.Short()) && every > 2*time.Second || every > 5*time.Minute && layout != gentest.Sharded[0] { // 3 is the default
						continue
					}
					testkit.Bubble(t, fmt.Sprintf("%v, every %v, 2^%d blocks, %s", layout, every, boost, name), func(t *testing.T) {
						cfg, shards := cached.Config{Layout: layout, BoostPower: boost}, testkit.Scaled(64)
						if every > time.Minute { // else the generator would look at its ring 7,200 times an hour
							cfg.MaxStaleness = every / 2
						}
						g := inBubble(t, cfg)
						time.Sleep(time.Millisecond) // not at the instants at which the padding goroutine looks for stale blocks
						next := take(g)
						gentest.CheckShards(t, shards, func() (int64, error) {
							time.Sleep(every)
							return next()
						})
					})
				}
			}
		}
	}
}

// A take of the ring has at most 2^40 IDs, fewer than a unit may have.
func TestLaneThatGoesOnBeyondItsPartOfAUnitRepeatsNoID(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("a call of Reserve gets at most 2^31 IDs")
	}
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{Layout: bitsalloc.Layout{DeltaBits: 18, SequenceBits: 43}, BoostPower: 1, Assigner: &fakeassigner.Assigner{OnAssign: anyWorker(0)}})
		lane := g.Lane()
		reserve := func() (first, last int64) {
			t.Helper()
			first, n, err := g.Reserve(math.MaxInt)
			testkit.Must(t, err)
			return first, first + int64(n) - 1
		}
		for range 7 {
			reserve()
		}
		_, err := lane.Next() // of the last eighth of the unit; the next block of the ring begins with 0
		testkit.Must(t, err)
		time.Sleep(5 * time.Minute)
		id, err := lane.Next()
		testkit.Must(t, err)
		for range 7 { // the rest of the unit
			if first, last := reserve(); first <= id && id <= last {
				t.Errorf("the lane issued %d, and the stream %d to %d", id, first, last)
			}
		}
	})
}
