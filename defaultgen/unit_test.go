package defaultgen_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
)

// The clock is read once to see that the unit is used up, and once to see how long to wait. When a
// unit begins in between, that one must not be slept through.
func TestNextContextSkipsNoUnitThatBeginsWhileItLooks(t *testing.T) {
	for nth := range 2 {
		synctest.Test(t, func(t *testing.T) {
			slow := -1 // the reading that takes a while; negative: none
			cfg := complete(defaultgen.Config{Now: func() time.Time {
				t := time.Now()
				if slow == 0 {
					time.Sleep(2 * time.Millisecond)
				}
				slow--
				return t
			}})
			g := open(t, cfg)
			fill(t, g, 16)
			time.Sleep(999 * time.Millisecond)
			slow = nth
			var f bitsalloc.Fields
			if d := gentest.Elapsed(func() { f = wait(t, g) }); d != 2*time.Millisecond || !f.Time.Equal(gentest.Start.Add(time.Second)) {
				t.Errorf("NextContext took %v for an ID of %v, want 2ms and the unit that had begun", d, f.Time)
			}
		})
	}
}

func TestStatsTellThePosition(t *testing.T) {
	g, clock := onFakeClock(t, defaultgen.Config{})
	before := g.Stats()
	fill(t, g, 16)
	clock.move(250 * time.Millisecond)
	if s := g.Stats(); before.LastDelta != 0 || s.LastDelta != 1000 || s.Ahead != -250*time.Millisecond {
		t.Errorf("Stats: %+v, then %+v, want delta 0, then 1000, 250ms behind", before, s)
	}
}
