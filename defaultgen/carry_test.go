package defaultgen_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// openCarried is open with cfg.Now in place of the system's clock.
func openCarried(t testing.TB, cfg defaultgen.Config) *defaultgen.Generator {
	t.Helper()
	g, err := defaultgen.NewCarried(complete(cfg))
	return testkit.Close(t, g, err)
}

var units = []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute}

// wideIn has so many IDs in a unit that tests do not use them up.
func wideIn(unit time.Duration) bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 40, WorkerBits: 3, SequenceBits: 20, Unit: unit}
}

// The clock is read once a unit or a millisecond when it is the system's, and for each ID when it
// is the user's.
func TestHowOftenTheClockIsRead(t *testing.T) {
	for _, unit := range units {
		synctest.Test(t, func(t *testing.T) {
			const milliseconds, perMillisecond = 100, 20
			var reads atomic.Int64
			cfg := complete(defaultgen.Config{Layout: wideIn(unit), Now: func() time.Time {
				reads.Add(1)
				return time.Now()
			}})
			readsOf := func(g *defaultgen.Generator) int64 {
				before := reads.Load()
				for range milliseconds * perMillisecond {
					next(t, g)
					time.Sleep(time.Millisecond / perMillisecond)
				}
				return reads.Load() - before
			}
			if n := readsOf(openCarried(t, cfg)); n != milliseconds {
				t.Errorf("units of %v: %d readings of the system's clock in %d ms", unit, n, milliseconds)
			}
			within, err := defaultgen.NewContext(t.Context(), cfg)
			for _, g := range []*defaultgen.Generator{open(t, cfg), testkit.Close(t, within, err)} {
				if n := readsOf(g); n != milliseconds*perMillisecond {
					t.Errorf("units of %v: %d readings of the user's clock for %d IDs", unit, n, milliseconds*perMillisecond)
				}
			}
		})
	}
}
