package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
)

// The errors of a refusal and of the release that follows come together.
func TestGrantThatIsRefusedIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 1, First: 1, Limit: assigner.Unlimited, Reusable: true}, nil
		}
		failure := errors.New("and the store is down")
		r.release = func(context.Context, int64) error { return failure }
		r.advice = "take another"
		err := r.startIn(t.Context(), r.settings())
		if !errors.Is(err, assigner.ErrUnfencedReuse) || !errors.Is(err, failure) {
			t.Errorf("Start = %v, want ErrUnfencedReuse and the error of the release", err)
		}
	})
}

func TestStartEndsWithItsContextAndTheTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(ctx context.Context, _ int) (assigner.Grant, error) {
			<-ctx.Done()
			return assigner.Grant{}, ctx.Err()
		}
		err := r.startIn(t.Context(), r.settings())
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within AssignTimeout, 10s: ") {
			t.Errorf("Start = %v, want DeadlineExceeded and the timeout", err)
		}
		if got := time.Since(r.start); got != r.timeout {
			t.Errorf("Start took %v, want the timeout", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.startIn(ctx, r.settings()); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "AssignTimeout") {
			t.Errorf("Start = %v, want DeadlineExceeded, and not by the timeout", err)
		}
		if got := time.Since(r.start); got != r.timeout+time.Second {
			t.Errorf("Start took %v, want a second", got-r.timeout)
		}
	})
}

// An assigner that does not look at its context may answer late. The lease is good all the same.
func TestLateAnswerIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
			time.Sleep(2 * r.timeout)
			return r.fresh(n), nil
		}
		r.open(t)
	})
}

func TestCurrentUnitCountsAsUsedByAnEarlierProcess(t *testing.T) {
	for name, row := range map[string]struct {
		grant assigner.Grant
		first int64
	}{
		"reusable": {assigner.Grant{First: 1, Limit: assigner.Unlimited, Reusable: true}, 61},
		"ahead":    {assigner.Grant{First: 500, Limit: assigner.Unlimited, Reusable: true}, 500},
		"fresh":    {assigner.Grant{First: 1, Limit: assigner.Unlimited}, 1},
		"fenced":   {assigner.Grant{First: 40, Limit: 100, Reusable: true}, 40},
		"a fence":  {assigner.Grant{First: 80, Limit: 101, Reusable: true}, 80},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				row.grant.WorkerID = r.first
				r.assign = func(context.Context, int) (assigner.Grant, error) { return row.grant, nil }
				cfg := r.settings()
				time.Sleep(time.Minute)
				r.openWith(t, cfg)
				if h := r.Current(); h.First != row.first || h.Delta != 60 {
					t.Errorf("Current = %+v, want First %d, Delta 60", h, row.first)
				} else if unused := max(h.First, 61); h.Fenced() && h.Half != unused-1+(h.Limit-unused+1)/2 {
					t.Errorf("Current = %+v, want half of the deltas from %d on", h, unused)
				}
			})
		})
	}
}

// A lease keeps the clock of the lease before if that is ahead. Its Delta is the delta that the
// assigner has seen: its grant may end before the delta of that clock.
func TestDeltaOfLeaseIsTheReadingOfTheAssigner(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s := r.settings()
		now, back := s.Now, time.Duration(0)
		s.Now = func() time.Time { return now().Add(-back) }
		time.Sleep(time.Hour)
		r.openWith(t, s)
		back = time.Minute
		r.Invalidate()
		synctest.Wait()
		if h := r.Current(); h.Generation != 2 || h.Delta != 3540 || r.Alloc.Delta(h.Clock.Now()) != 3600 {
			t.Errorf("Current = %+v, want Delta 3540 and a clock at 3600", h)
		}
	})
}

// The default epoch is in the future of a clock that is years behind.
func TestDefaultEpochIsChecked(t *testing.T) {
	s := newRig().settings()
	s.Epoch, s.Now = time.Time{}, func() time.Time { return bitsalloc.DefaultEpoch().Add(-time.Hour) }
	if _, mistakes := keeper.New(s); mistakes.Err() == nil || !strings.Contains(mistakes.Err().Error(), "Epoch") {
		t.Errorf("New: %v, want a mistake", mistakes.Err())
	}
}

// Close does not wait out a call that is under way.
func TestCloseInterruptsARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(ctx context.Context, _ *assigner.Grant, _, _ int64) error {
			<-ctx.Done()
			return ctx.Err()
		}
		r.open(t)
		time.Sleep(46 * time.Second)
		start := time.Now()
		if err := r.Close(); err != nil || time.Since(start) != 0 {
			t.Errorf("Close = %v after %v, want at once", err, time.Since(start))
		}
		if _, failures := r.counts(); failures != 0 {
			t.Errorf("%d failures, but the store has not failed", failures)
		}
	})
}
