package defaultgen_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestLostRaceIsTriedAgain has another call enter a unit while the first one reads the clock.
func TestLostRaceIsTriedAgain(t *testing.T) {
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
			d := newFakeClock(cfg.Epoch.Add(1000 * cfg.Layout.Unit))
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

// A unit that changes may be of the lease that ends.
func TestChangeOfTheUnitIsWaitedFor(t *testing.T) {
	for name, call := range map[string]func(*defaultgen.Generator){
		"EndUnit": (*defaultgen.Generator).EndUnit,
		"Used":    func(g *defaultgen.Generator) { g.Used() },
	} {
		g, _ := onFakeClock(t, defaultgen.Config{})
		end := g.LockUnit()
		waits, wait := testkit.Waits(func() { call(g) })
		if !waits {
			t.Errorf("%s has returned while the unit changes", name)
		}
		end()
		wait()
	}
}

// TestCallerThatWaitsForTheEndOfItsLease has the lease end while the caller waits for the mutex.
func TestCallerThatWaitsForTheEndOfItsLease(t *testing.T) {
	g, clock := onFakeClock(t, defaultgen.Config{})
	next(t, g)
	clock.move(time.Second)
	end, result, closed := g.LockUnit(), make(chan error), make(chan error)
	go func() {
		_, err := g.Next()
		result <- err
	}()
	testkit.Yield()
	go func() { closed <- g.Close() }()
	testkit.Until(t, "Close has withdrawn the lease", func() bool { return !g.Held() })
	end()
	if err := <-result; !errors.Is(err, defaultgen.ErrClosed) {
		t.Errorf("Next: %v, want ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A Fill that stalls while other calls take the rest of its unit has no ID beyond the unit.
func TestStalledFillGetsWhatIsLeft(t *testing.T) {
	g, _ := onFakeClock(t, defaultgen.Config{})
	fill(t, g, 14)
	for _, want := range []int64{2, 0, 0} {
		if first, got := g.Add(5); got != want {
			t.Errorf("%d IDs from %d, want %d", got, first, want)
		}
	}
}
