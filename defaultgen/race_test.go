package defaultgen_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// TestALostRaceIsTriedAgain has another call enter a unit while the first one reads the clock.
func TestALostRaceIsTriedAgain(t *testing.T) {
	for name, row := range map[string]struct {
		taken  int // of the unit before
		before time.Duration
		after  time.Duration // the clock moves before and after the reading
	}{
		"into the same unit":                   {1, time.Second, 0},
		"into the next unit":                   {1, time.Second, time.Second},
		"with an error that is no longer true": {16, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := complete(defaultgen.Config{SequenceStart: defaultgen.Zero})
			d := newDial(cfg.Epoch.Add(1000 * cfg.Layout.Unit))
			var between func()
			cfg.Now = func() time.Time {
				now, call := d.now(), between
				if call != nil {
					between = nil
					call()
				}
				return now
			}
			g := open(t, cfg)
			fill(t, g, row.taken)
			d.move(row.before)
			var winner bitsalloc.Fields
			between = func() {
				d.move(row.after)
				winner = next(t, g)
			}
			delta := 1000 + int64((row.before+row.after)/time.Second)
			loser := next(t, g)
			checkAt(t, winner, delta, 0)
			checkAt(t, loser, delta, 1)
		})
	}
}
