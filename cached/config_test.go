package cached_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/uidringtest"
)

func TestZeroConfigMeansTheDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(bitsalloc.DefaultEpoch().Add(time.Hour)))
		still := open(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1})
		g := open(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fresh}})
		synctest.Wait()
		s := g.Stats()
		for _, n := range []int{s.Remaining, still.Stats().Remaining} {
			if s.Capacity != 65_536 || n >= 65_536 || n < 65_536-1534 {
				t.Errorf("Capacity %d, Remaining %d, want 65536, and 1 to 1534 fewer", s.Capacity, n)
			}
		}
		take(t, g, 20*8192) // more than the ring has: padded inline, and no bound ahead
		if got := g.Stats().Retired; got != int64(s.Capacity-s.Remaining) {
			t.Errorf("%d IDs were dropped, want those of the first block alone, %d", got, s.Capacity-s.Remaining)
		}
	})
}

// The ring has more slots than the layout has units, for more IDs than an int64 counts.
func TestCapacityDoesNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout := bitsalloc.Layout{DeltaBits: 6, SequenceBits: 57, Unit: time.Minute}
		g := open(t, cached.Config{Assigner: uidringtest.Worker(0), Layout: layout, Epoch: time.Now().Add(-time.Minute), BoostPower: 8})
		synctest.Wait()
		if s := g.Stats(); s.Capacity < math.MaxInt/64*63 || s.Remaining <= 0 || s.Remaining > s.Capacity {
			t.Errorf("Capacity %d, Remaining %d, want %d or nearly so, and no more", s.Capacity, s.Remaining, math.MaxInt)
		}
	})
}
