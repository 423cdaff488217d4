package defaultgen_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

func TestIDCostsNoMemory(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		g, clock := onFakeClock(t, defaultgen.Config{Layout: bitsalloc.Layout{DeltaBits: 40, WorkerBits: 3, SequenceBits: 20, Unit: time.Second}, OnClockBack: policy})
		ids, ctx := make([]int64, 256), t.Context()
		for name, f := range map[string]func() error{
			"Next":        func() error { _, err := g.Next(); return err },
			"NextContext": func() error { _, err := g.NextContext(ctx); return err },
			"Fill":        func() error { _, err := g.Fill(ids); return err },
		} {
			if n := testing.AllocsPerRun(1000, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
				clock.Advance(100 * time.Nanosecond) // within the unit
			}); n != 0 {
				t.Errorf("policy %d: %s makes %v allocations", policy, name, n)
			}
		}
	}
}
