package defaultgen_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// wide is never used up: it has 2^30 IDs a second.
func wide() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 31, WorkerBits: 2, SequenceBits: 30, Unit: time.Second}
}

func TestIDCostsNoMemory(t *testing.T) {
	for _, policy := range []defaultgen.ClockBackPolicy{defaultgen.Fail, defaultgen.GoOn} {
		synctest.Test(t, func(t *testing.T) { checkNoMemory(t, policy) })
	}
}

func checkNoMemory(t *testing.T, policy defaultgen.ClockBackPolicy) {
	t.Helper()
	cfg := complete(defaultgen.Config{Layout: wide(), OnClockBack: policy})
	clock := newFakeClock(cfg.Epoch.Add(time.Hour))
	cfg.Now = clock.now
	g := open(t, cfg)
	ids := make([]int64, 256)
	for name, f := range map[string]func() error{
		"Next":        func() error { _, err := g.Next(); return err },
		"NextContext": func() error { _, err := g.NextContext(t.Context()); return err },
		"Fill":        func() error { _, err := g.Fill(ids); return err },
	} {
		var err error
		if n := testing.AllocsPerRun(1000, func() {
			if e := f(); e != nil {
				err = e
			}
			clock.move(100 * time.Nanosecond) // within the unit
		}); n != 0 || err != nil {
			t.Errorf("policy %d: %s makes %v allocations, error %v", policy, name, n, err)
		}
	}
}

func TestRefusalForWantOfSequenceCostsNoMemory(t *testing.T) {
	g, _ := onFakeClock(t, defaultgen.Config{})
	fill(t, g, 16)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := g.Next(); err != defaultgen.ErrSequenceExhausted {
			t.Errorf("Next: %v", err)
		}
	}); n != 0 {
		t.Errorf("Next makes %v allocations for its error", n)
	}
}
