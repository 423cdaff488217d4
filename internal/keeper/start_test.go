package keeper_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
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
