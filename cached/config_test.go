package cached_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

func TestEachMistakeIsNamed(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(*cached.Config)
		want  []string // the field and the value given, the values allowed
	}{
		"boost 9": {func(c *cached.Config) { c.BoostPower = 9 }, []string{"BoostPower 9", "1 to 8"}},
		"boost 8 of 2^55": {func(c *cached.Config) {
			c.BoostPower, c.Layout, c.Epoch = 8, bitsalloc.Layout{DeltaBits: 8, SequenceBits: 55}, time.Now()
		}, []string{"BoostPower 8 with 55 SequenceBits"}},
		"boost -1":           {func(c *cached.Config) { c.BoostPower = -1 }, []string{"BoostPower -1", "1 to 8"}},
		"padding 100":        {func(c *cached.Config) { c.PaddingFactor = 100 }, []string{"PaddingFactor 100", "1 to 99"}},
		"padding -1":         {func(c *cached.Config) { c.PaddingFactor = -1 }, []string{"PaddingFactor -1", "1 to 99"}},
		"schedule":           {func(c *cached.Config) { c.ScheduleInterval = 60 }, []string{"ScheduleInterval 60ns", "0 (off) or at least 1ms, such as 60 * time.Second"}},
		"one unit staleness": {func(c *cached.Config) { c.MaxStaleness = 2*time.Second - 1 }, []string{"MaxStaleness 1.999999999s", "2s"}},
		"ahead below a unit": {func(c *cached.Config) { c.MaxAhead = time.Second - 1 }, []string{"MaxAhead 999.999999ms", "1s"}},
		"hardly ahead":       {func(c *cached.Config) { c.MaxAhead = 1 }, []string{"MaxAhead 1ns", "1s"}},
		"ahead negative":     {func(c *cached.Config) { c.MaxAhead = -1 }, []string{"MaxAhead -1ns", "0 (unbounded)"}},
		"policy":             {func(c *cached.Config) { c.OnEmpty = 2 }, []string{"OnEmpty 2", "PadInline, Reject"}},
		"negative policy":    {func(c *cached.Config) { c.OnEmpty = -1 }, []string{"OnEmpty -1", "PadInline, Reject"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cached.Config{Assigner: assigner.Static(worker()), AllowReuse: true}
			cfg.Epoch = time.Now().Add(-time.Hour).Truncate(time.Second)
			row.spoil(&cfg)
			cfg.Epoch = cfg.Epoch.Truncate(time.Millisecond)
			_, err := cached.New(cfg)
			if !errors.Is(err, cached.ErrInvalidConfig) {
				t.Fatalf("New = %v, want ErrInvalidConfig", err)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
			if n := strings.Count(err.Error(), "\n") + 1; n != 1 {
				t.Errorf("%d mistakes are reported for one:\n%v", n, err)
			}
		})
	}
}

func TestValuesAtTheirBordersAreAccepted(t *testing.T) {
	for name, set := range map[string]func(*cached.Config){
		"boost 1":           func(c *cached.Config) { c.BoostPower = 1 },
		"boost 8":           func(c *cached.Config) { c.BoostPower = 8 },
		"padding 1":         func(c *cached.Config) { c.PaddingFactor = 1 },
		"padding 99":        func(c *cached.Config) { c.PaddingFactor = 99 },
		"two units stale":   func(c *cached.Config) { c.MaxStaleness = 2 * time.Second },
		"stale for ever":    func(c *cached.Config) { c.MaxStaleness = -1 },
		"one unit ahead":    func(c *cached.Config) { c.MaxAhead = time.Second },
		"frequent schedule": func(c *cached.Config) { c.ScheduleInterval = time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cached.Config{Layout: narrow()}
			set(&cfg)
			cfg.Assigner, cfg.AllowReuse = &fakeassigner.Assigner{OnAssign: fresh}, false
			g := open(t, cfg)
			next(t, g)
		})
	}
}

func TestZeroConfigMeansTheDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(bitsalloc.DefaultEpoch().Add(time.Hour)))
		g := open(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fresh}})
		synctest.Wait()
		s := g.Stats()
		if s.Capacity != 65_536 || s.Remaining != 65_536 {
			t.Errorf("Capacity %d, Remaining %d, want 65536", s.Capacity, s.Remaining)
		}
		take(t, g, 20*8192) // more than the ring has: padded inline, and no bound ahead
	})
}

func TestReuseWithoutAFenceNeedsADecision(t *testing.T) {
	_, err := cached.New(cached.Config{Assigner: assigner.Static(worker())})
	if !errors.Is(err, assigner.ErrUnfencedReuse) {
		t.Fatalf("New = %v, want ErrUnfencedReuse", err)
	}
	for _, want := range []string{"MaxAhead", "AllowReuse"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not offer %s: %v", want, err)
		}
	}
}
