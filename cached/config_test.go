package cached_test

import (
	"context"
	"errors"
	"math"
	"strings"
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

func TestEachMistakeIsNamed(t *testing.T) {
	for want, cfg := range map[string]cached.Config{
		"BoostPower 9, allowed: 1 to 8":                                                                       {BoostPower: 9},
		"BoostPower -1, allowed: 1 to 8":                                                                      {BoostPower: -1},
		"PaddingFactor 100, allowed: 1 to 99":                                                                 {PaddingFactor: 100},
		"PaddingFactor -1, allowed: 1 to 99":                                                                  {PaddingFactor: -1},
		"ScheduleInterval 60ns, allowed: 0 (off) or at least 1ms, such as 60 * time.Second":                   {ScheduleInterval: 60},
		"MaxStaleness 1.999999999s, allowed: negative (unbounded), 0 (the default) or at least two units, 2s": {MaxStaleness: 2*time.Second - 1},
		"MaxAhead 999.999999ms, allowed: negative or 0 (unbounded) or at least the unit, 1s":                  {MaxAhead: time.Second - 1},
		"OnEmpty 2, allowed: PadInline, Reject":                                                               {OnEmpty: 2},
		"MaxStaleness 1ns, allowed: negative (unbounded), 0 (the default) or at least two units, 2m0s":        {Layout: bitsalloc.Layout{DeltaBits: 28, Unit: time.Minute}, MaxStaleness: 1},
		"OnEmpty -1, allowed: PadInline, Reject":                                                              {OnEmpty: -1},
	} {
		cfg.Assigner = assigner.Static(1)
		if err := cfg.Validate(); !errors.Is(err, cached.ErrInvalidConfig) || err.Error() != "uidring: invalid config: "+want {
			t.Errorf("Validate = %v, want %s", err, want)
		}
	}
	for _, cfg := range []cached.Config{
		{BoostPower: 1, PaddingFactor: 1, MaxStaleness: 2 * time.Second, MaxAhead: time.Second, ScheduleInterval: time.Millisecond},
		{BoostPower: 8, PaddingFactor: 99, MaxStaleness: -1, MaxAhead: -1},
	} {
		cfg.Assigner = assigner.Static(1)
		if err := cfg.Validate(); err != nil {
			t.Errorf("at the border of all that is allowed: %v", err)
		}
	}
}

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

// The assigner learns how far ahead of the clock the generator may go on, in whole units.
func TestAssignerLearnsTheBoundAhead(t *testing.T) {
	layout := bitsalloc.Default()
	layout.Unit = time.Minute
	for ahead, want := range map[time.Duration]int64{0: math.MaxInt64, -1: math.MaxInt64, 150 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(bitsalloc.DefaultEpoch().Add(time.Hour)))
			got := int64(-1)
			open(t, cached.Config{MaxAhead: ahead, Layout: layout, Assigner: &fakeassigner.Assigner{
				OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
					got = d.MaxAhead
					return fresh(ctx, n, d)
				}}})
			if got != want {
				t.Errorf("MaxAhead %v: the assigner reads %d, want %d", ahead, got, want)
			}
		})
	}
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

func TestReuseWithoutAFenceNeedsADecision(t *testing.T) {
	_, err := cached.New(cached.Config{Assigner: assigner.Static(worker())})
	if !errors.Is(err, assigner.ErrUnfencedReuse) || !strings.Contains(err.Error(), "MaxAhead") || !strings.Contains(err.Error(), "AllowReuse") {
		t.Fatalf("New = %v, want ErrUnfencedReuse and two ways out", err)
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	if g, err := cached.New(cached.Config{Assigner: assigner.Static(worker()), AllowReuse: true, BoostPower: 9}); !errors.Is(err, cached.ErrInvalidConfig) {
		t.Errorf("New = %v, %v", g, err)
	}
}

func TestNewIsBoundedByStartTimeout(t *testing.T) {
	gentest.StartTimeout(t, func(a assigner.Assigner, epoch time.Time, timeout time.Duration) error {
		_, err := cached.New(cached.Config{Assigner: a, Epoch: epoch, StartTimeout: timeout})
		return err
	})
}
