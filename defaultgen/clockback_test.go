package defaultgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/bubble"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/together"
)

// checkBack asks for a ClockBackError of exactly this distance.
func checkBack(t testing.TB, err error, behind time.Duration) {
	t.Helper()
	back, ok := errors.AsType[*defaultgen.ClockBackError](err)
	if !ok || !errors.Is(err, defaultgen.ErrClockBack) || back.Behind != behind {
		t.Errorf("error %v, want a ClockBackError of %v", err, behind)
	}
}

func TestFailTellsTheExactDistanceToTheLastUnit(t *testing.T) {
	for _, c := range []struct{ into, back, behind time.Duration }{
		{0, 1, 1},
		{500 * time.Millisecond, 500*time.Millisecond + 1, 1},
		{0, 1001 * time.Second, 1001 * time.Second}, // before the epoch
	} {
		g, clock := onFakeClock(t, defaultgen.Config{})
		clock.move(c.into)
		next(t, g)
		clock.move(-c.back)
		_, err := g.Next()
		checkBack(t, err, c.behind)
		if want := "defaultgen: the clock is behind: by " + c.behind.String(); err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		n, err := g.Fill(make([]int64, 2))
		checkBack(t, err, c.behind)
		if n != 0 {
			t.Errorf("Fill = %d, want 0", n)
		}
		clock.move(c.behind)
		checkAt(t, next(t, g), 1000, 1)
	}
}

func TestNextContextWaitsForTheClock(t *testing.T) {
	for _, back := range []time.Duration{1, time.Millisecond, time.Second, time.Second + 1, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var by atomic.Int64
			g := open(t, defaultgen.Config{Now: gentest.Skewed(&by)})
			first := next(t, g)
			by.Add(int64(-back))
			ctx, cancel := context.WithTimeout(t.Context(), back/2)
			defer cancel()
			_, err := g.NextContext(ctx)
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, defaultgen.ErrClockBack) {
				t.Errorf("%v back: %v, want DeadlineExceeded and ErrClockBack", back, err)
			}
			d := gentest.Elapsed(func() { checkAt(t, wait(t, g), first.Delta, 1) })
			if d != back-back/2 {
				t.Errorf("%v back: NextContext took %v, want %v", back, d, back-back/2)
			}
		})
	}
}

// TestNextContextFollowsTheClock steps the clock again while NextContext waits.
func TestNextContextFollowsTheClock(t *testing.T) {
	for name, row := range map[string]struct {
		taken       int
		back, again time.Duration // steps: before the call, and 300 ms later
		least, most time.Duration // of the wait
	}{
		"it is set ahead":     {1, -time.Hour, time.Hour, 300 * time.Millisecond, 1300 * time.Millisecond},
		"it steps back again": {1, -600 * time.Millisecond, -500 * time.Millisecond, 1100 * time.Millisecond, 1100 * time.Millisecond},
		"the unit is used up": {16, -300 * time.Millisecond, 0, 1300 * time.Millisecond, 1300 * time.Millisecond},
	} {
		bubble.Run(t, name, func(t *testing.T) {
			var by atomic.Int64
			g := open(t, defaultgen.Config{Now: gentest.Skewed(&by)})
			fill(t, g, row.taken)
			by.Add(int64(row.back))
			time.AfterFunc(300*time.Millisecond, func() { by.Add(int64(row.again)) })
			if d := gentest.Elapsed(func() { wait(t, g) }); d < row.least || d > row.most {
				t.Errorf("NextContext took %v, want %v to %v", d, row.least, row.most)
			}
		})
	}
}

func TestEveryPolicyHoldsUnderClocksThatDifferBetweenReaders(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		cfg := complete(defaultgen.Config{OnClockBack: policy})
		var reads atomic.Int64
		cfg.Now = func() time.Time { // forward by a unit every 64 readings, and to and fro by up to two
			n := reads.Add(1)
			return cfg.Epoch.Add(time.Duration(1000+n/64+n*7919%5-2) * time.Second)
		}
		g := open(t, cfg)
		var log gentest.Ledger
		together.Run(8, func(int) {
			for range 2000 {
				log.Take(t, g.Next, defaultgen.ErrClockBack, defaultgen.ErrSequenceExhausted)
			}
		})
		log.Check(t, 2000)
	}
}
