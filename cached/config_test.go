package cached_test

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
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
		gentest.Fill(t, g, 20*8192) // more than the ring has: padded inline, and no bound ahead
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

// FuzzConfig asks that any Config gives an error or a generator that works, and never a panic.
func FuzzConfig(f *testing.F) {
	f.Add(uint8(28), uint8(5), uint8(17), uint8(13), int64(time.Second), int64(0), int64(0), int64(1), 3, 50, int64(0), int64(0), 0)
	f.Add(uint8(41), uint8(0), uint8(10), uint8(12), int64(time.Millisecond), int64(1000), int64(0), int64(1023), 1, 99, int64(2e6), int64(1e6), 1)
	f.Add(uint8(1), uint8(0), uint8(0), uint8(0), int64(time.Minute), int64(1), int64(-1), int64(-1), 21, 100, int64(-1), int64(-1), 2)
	f.Add(uint8(63), uint8(0), uint8(0), uint8(0), int64(time.Second), int64(1), int64(0), int64(0), 1, 1, int64(-1), int64(0), 0)
	f.Fuzz(func(t *testing.T, deltaBits, datacenterBits, workerBits, sequenceBits uint8, unit, age, datacenter, number int64,
		boost, padding int, stale, ahead int64, policy int) {
		now := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
		cfg := cached.Config{
			Layout: bitsalloc.Layout{DeltaBits: deltaBits, DatacenterBits: datacenterBits, WorkerBits: workerBits,
				SequenceBits: sequenceBits, Unit: time.Duration(unit)},
			Epoch:         now.Add(-time.Duration(age) * time.Millisecond),
			DatacenterID:  datacenter,
			Assigner:      &fakeassigner.Assigner{OnAssign: anyWorker(number)},
			BoostPower:    boost,
			PaddingFactor: padding,
			MaxStaleness:  time.Duration(stale),
			MaxAhead:      time.Duration(ahead),
			OnEmpty:       cached.EmptyPolicy(policy),
			Now:           func() time.Time { return now },
		}
		g, err := cached.New(cfg)
		if err != nil {
			return
		}
		defer g.Close()
		for last, i := int64(0), 0; i < 100; i++ {
			id, err := g.Next()
			if errors.Is(err, cached.ErrEmpty) || errors.Is(err, cached.ErrTooFarAhead) || errors.Is(err, cached.ErrTimeExhausted) {
				continue
			}
			fields := gentest.Parse(t, g, id, err)
			if id <= last || fields.WorkerID != number || fields.DatacenterID != datacenter {
				t.Fatalf("%v after %d", fields, last)
			}
			last = id
		}
	})
}

// anyWorker gives any number, with a fence that is out of the way: successors need not start above.
func anyWorker(number int64) fakeassigner.AssignFunc {
	return gentest.Always(assigner.Grant{WorkerID: number, First: 1, Last: assigner.Unlimited - 1, Guarantee: assigner.GuaranteeFenced})
}
