//go:build !race

package cached_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestIDsSpreadEvenlyOverShardsAtAnyPace compares the number of IDs of each shard with an even
// share, which counting gives to within one.
func TestIDsSpreadEvenlyOverShardsAtAnyPace(t *testing.T) {
	for every, count := range map[time.Duration]int{
		24 * time.Hour: 100, time.Hour: 1000, 5 * time.Minute: 16_000, time.Minute: 16_000, 20 * time.Second: 16_000,
		7 * time.Second: 16_000, time.Second: 16_000, 100 * time.Millisecond: 16_000,
	} {
		for boost, n := range map[int]int{1: count / 4, 3: count, 8: count / 4} { // 3 is the default
			testkit.Bubble(t, fmt.Sprintf("every %v, 2^%d blocks", every, boost), func(t *testing.T) {
				// At the default MaxStaleness the generator would look at its ring 5,760 times a day.
				g := inBubble(t, cached.Config{Layout: bitsalloc.Default(), BoostPower: boost, MaxStaleness: max(time.Minute, every/5)})
				time.Sleep(time.Millisecond) // not at the instants at which the padding goroutine looks for stale blocks
				ids := make([]int64, testkit.Scaled(n))
				for i := range ids {
					ids[i] = next(t, g).ID
					time.Sleep(every)
				}
				for _, shards := range []int64{2, 3, 10, 16, 64, 1024} {
					got := make([]int, shards)
					for _, id := range ids {
						got[id%shards]++
					}
					share := float64(len(ids)) / float64(shards)
					if least, most := float64(slices.Min(got)), float64(slices.Max(got)); least < 0.97*share-2 || most > 1.03*share+2 {
						t.Errorf("%d shards got %v to %v of %d IDs, want %.0f", shards, least, most, len(ids), share)
					}
				}
			})
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
		laneNext(t, lane) // of the last eighth of the unit; the next block of the ring begins with 0
		time.Sleep(5 * time.Minute)
		id := laneNext(t, lane)
		for range 7 { // the rest of the unit
			if first, last := reserve(); first <= id && id <= last {
				t.Errorf("the lane issued %d, and the stream %d to %d", id, first, last)
			}
		}
	})
}
