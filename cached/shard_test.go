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
	"github.com/uidring/uidring/internal/test/bubble"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// shards are numbers of shards that IDs are spread over by their remainder.
var shards = []int64{2, 3, 10, 16, 64, 1024}

// checkSpread compares how many IDs each shard got with an even share, which each counter gives it
// to within one.
func checkSpread(t *testing.T, ids []int64, counters int, tolerated float64) {
	t.Helper()
	for _, n := range shards {
		got := make([]int, n)
		for _, id := range ids {
			got[id%n]++
		}
		share := float64(len(ids)) / float64(n)
		tolerance := float64(1+counters) + tolerated*share
		for shard, got := range got {
			if off := float64(got) - share; off > tolerance || off < -tolerance {
				t.Errorf("shard %d of %d got %d of %d IDs, want %.0f ± %.0f", shard, n, got, len(ids), share, tolerance)
				break
			}
		}
	}
}

func TestIDsSpreadEvenlyOverShardsAtAnyPace(t *testing.T) {
	for _, row := range []struct {
		every time.Duration
		ids   int
	}{
		{24 * time.Hour, 100},
		{time.Hour, 1000},
		{5 * time.Minute, 16_000},
		{time.Minute, 16_000},
		{20 * time.Second, 16_000},
		{7 * time.Second, 16_000},
		{time.Second, 16_000},
		{100 * time.Millisecond, 16_000},
	} {
		for boost, n := range map[int]int{1: row.ids / 4, 3: row.ids, 8: row.ids / 4} { // 3 is the default
			bubble.Run(t, fmt.Sprintf("every %v, 2^%d blocks", row.every, boost), func(t *testing.T) {
				// At the default MaxStaleness the generator would look at its ring 5,760 times a day.
				g := inBubble(t, cached.Config{Layout: bitsalloc.Default(), BoostPower: boost, MaxStaleness: max(time.Minute, row.every/5)})
				time.Sleep(time.Millisecond) // not at the instants at which the padding goroutine looks for stale blocks
				ids := make([]int64, scaled(n))
				for i := range ids {
					ids[i] = next(t, g).ID
					time.Sleep(row.every)
				}
				checkSpread(t, ids, 1, 0.03)
			})
		}
	}
}

// A take of the ring has at most 2^40 IDs, fewer than a unit may have.
func TestLaneThatGoesOnBeyondItsPartOfAUnitRepeatsNoID(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("a ring of so many IDs is refused")
	}
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{Layout: bitsalloc.Layout{DeltaBits: 18, SequenceBits: 43}, BoostPower: 1, Assigner: &fakeassigner.Assigner{OnAssign: anyWorker(0)}})
		lane := g.Lane()
		defer lane.Close()
		reserve := func() (first, last int64) {
			t.Helper()
			first, n, err := g.Reserve(math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
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
