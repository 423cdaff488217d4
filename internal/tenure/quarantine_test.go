package tenure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/tenure"
)

// quarantine makes the store hold back every worker ID for 40 s, beginning with the nth lease.
func quarantine(r *rig, nth int) {
	var until time.Time
	r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
		if n >= nth {
			if until.IsZero() {
				until = time.Now().Add(40 * time.Second)
			}
			if remaining := time.Until(until); remaining > 0 {
				return assigner.Grant{}, &assigner.QuarantineError{WorkerID: r.first, Remaining: remaining, Reason: "it is a test"}
			}
		}
		return assigner.Grant{WorkerID: r.first + int64(n), First: 1, Limit: assigner.Unlimited}, nil
	}
}

// The timeout bounds single calls: a quarantine lasts longer.
func TestStartWaitsForTheEndOfAQuarantine(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		quarantine(r, 0)
		r.open(t)
		if got := time.Since(r.start); got != 40*time.Second {
			t.Errorf("Start has taken %v, want 40s", got)
		}
		same(t, r.read(), "0s INFO worker ID in quarantine", "40s INFO worker ID assigned", "40s assigned 1")
	})
}

func TestStartWaitsNoLongerThanItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		quarantine(r, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err := tenure.Start(ctx, r.config())
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, assigner.ErrQuarantined) || time.Since(r.start) != 15*time.Second {
			t.Errorf("Start = %v after %v, want the deadline and the reason after 15s", err, time.Since(r.start))
		}
	})
}

// Nobody could end a wait with a context that never ends; the caller may come back.
func TestStartReportsAQuarantineWhenItsContextNeverEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		quarantine(r, 0)
		_, err := tenure.Start(context.Background(), r.config())
		held, ok := errors.AsType[*assigner.QuarantineError](err)
		if !ok || held.Remaining != 40*time.Second || time.Since(r.start) != 0 {
			t.Fatalf("Start = %v after %v, want the time that remains, at once", err, time.Since(r.start))
		}
		time.Sleep(held.Remaining)
		r.Tenure, err = tenure.Start(context.Background(), r.config())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAQuarantineInServiceIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		quarantine(r, 1)
		lose(r)
		r.open(t)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if err := r.Shortage(errors.New("nothing")); !errors.Is(err, assigner.ErrQuarantined) {
			t.Errorf("Shortage = %v, want the reason", err)
		}
		time.Sleep(time.Minute)
		if h := r.Current(); h == nil || h.WorkerID != r.first+2 || r.assigns.Load() != 3 {
			t.Errorf("Current = %+v after %d calls, want the third: one that is told to wait, one at the end", h, r.assigns.Load())
		}
	})
}

// A store that bounds fences by its clock gives more as time passes: it is asked again without being waited for.
func TestALossyStoreIsAskedAgainEverySecond(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		bound := func() int64 { return int64(time.Since(r.start)/time.Second) + 30 }
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first, First: 1, Limit: bound(), Guarantee: assigner.GuaranteeLossy}, nil
		}
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			g.Limit = bound()
			return nil
		}
		r.open(t)
		r.used.Store(30)
		r.Extend(1000)
		for i := range int64(20) {
			synctest.Wait()
			if got := r.Current().Limit; got < 30+i-1 || got > 30+i {
				t.Fatalf("Limit = %d after %d s, want %d or one less", got, i, 30+i)
			}
			r.used.Store(r.Current().Limit)
			time.Sleep(time.Second)
		}
	})
}
