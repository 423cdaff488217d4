package defaultgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The results of each policy for one caller are in the model. These are the waits of NextContext,
// and readings that the model does not have.

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
		testkit.Bubble(t, name, func(t *testing.T) {
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

// A single absurd reading, such as the zero Time of a clock that failed, must not derail the clock
// that is carried on.
func TestGoOnSurvivesAbsurdReadings(t *testing.T) {
	for _, absurd := range []time.Time{{}, time.Unix(-1<<62, 0), gentest.Start.AddDate(100, 0, 0), time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)} {
		synctest.Test(t, func(t *testing.T) {
			ahead := max(absurd.Sub(gentest.Start), 0) // no further than a Duration reaches
			derailed := false
			g := open(t, defaultgen.Config{OnClockBack: defaultgen.GoOn, Now: func() time.Time {
				if derailed {
					return absurd
				}
				return time.Now()
			}})
			next(t, g)
			derailed = true
			next(t, g)
			derailed = false
			for range 5 {
				time.Sleep(time.Second)
				checkTime(t, next(t, g), time.Now().Add(ahead), time.Second)
			}
		})
	}
}

// TestWorkerThatStartsAheadOfTheClock has a worker ID that may be used from an hour ahead on. GoOn
// begins there at once, and goes on at the usual pace; Fail leaves it to the clock. The units
// before are of an earlier holder, which may be ahead: a renewal must not enter one under the new
// lease.
func TestWorkerThatStartsAheadOfTheClock(t *testing.T) {
	for policy := range defaultgen.GoOn + 1 {
		synctest.Test(t, func(t *testing.T) {
			store := &fakeassigner.Assigner{Within: time.Minute, OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: 9, First: d.Now() + 3600, Last: assigner.Unlimited - 1, Guarantee: assigner.GuaranteeFenced}, nil
			}}
			g := open(t, defaultgen.Config{Assigner: store, OnClockBack: policy}) // waits for a unit
			if policy == defaultgen.Fail {
				_, err := g.Next()
				checkBack(t, err, 3598*time.Second)
				time.Sleep(3598 * time.Second)
				if id, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) {
					t.Errorf("Next returns %d, %v in the last unit of an earlier holder", id, err)
				}
				time.Sleep(time.Second)
			}
			for second := range 5 {
				for range 4 {
					checkTime(t, next(t, g), gentest.Start.Add(time.Hour+time.Duration(second)*time.Second), time.Second)
					time.Sleep(time.Second / 4)
				}
			}
		})
	}
}

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

// Without a reading of the clock, too, Next issues all IDs of a unit.
func TestNextIssuesEachIDOfAUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, defaultgen.Config{})
		first := next(t, g)
		for sequence := range int64(15) {
			checkAt(t, next(t, g), first.Delta, 1+sequence)
		}
		if _, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) {
			t.Errorf("Next = %v, want ErrSequenceExhausted", err)
		}
		// Takes that look at once must not move the next number back: one of them could repeat
		// an ID.
		if next, _ := g.Add(0); next != first.ID+17 {
			t.Errorf("after 17 takes the unit is at its ID %d", next-first.ID)
		}
	})
}

func TestEndOfTimeIsARejectedTake(t *testing.T) {
	layout := narrow(time.Second)
	layout.DeltaBits = 10
	g, clock := onFakeClock(t, defaultgen.Config{Layout: layout})
	clock.Advance(time.Minute)
	if _, err := g.NextContext(t.Context()); !errors.Is(err, defaultgen.ErrTimeExhausted) || g.Stats().RejectedTakes != 1 {
		t.Errorf("NextContext = %v, %d rejected takes, want ErrTimeExhausted and 1", err, g.Stats().RejectedTakes)
	}
}
