package keeper_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
)

// The store takes almost as long as it may, or never answers. No two renewals are more than a
// minute apart, and none begins at once after a slow one.
func TestLeaseIsRenewedOnceAMinute(t *testing.T) {
	for timeout, within := range map[time.Duration]time.Duration{
		10 * time.Second: 0, 59 * time.Second: 0, 5 * time.Minute: 0, time.Second: 200 * time.Millisecond,
	} {
		t.Run(timeout.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.timeout, r.store.Within = timeout, within
				calls, last, answered := 0, r.start, time.Time{}
				r.store.OnRenew = func(ctx context.Context, _ *assigner.Grant, _, _ int64) error {
					if gap := time.Since(last); gap > time.Minute || time.Since(answered) < 50*time.Millisecond {
						t.Errorf("a renewal began %v after the last one, and %v after its answer", gap, time.Since(answered))
					}
					if end, _ := ctx.Deadline(); time.Until(end) != min(timeout, 15*time.Second) {
						t.Errorf("a renewal may take %v", time.Until(end))
					}
					calls, last = calls+1, time.Now()
					defer func() { answered = time.Now() }()
					if timeout > time.Minute {
						<-ctx.Done()
						return ctx.Err()
					}
					time.Sleep(timeout - time.Millisecond)
					return nil
				}
				r.open(t)
				time.Sleep(time.Hour)
				synctest.Wait()
				if calls < 60 || within > 0 && calls < 3000 {
					t.Errorf("%d renewals in an hour", calls)
				}
			})
		})
	}
}

// The pauses in an outage of an hour grow from 50 to 100 ms to 5 to 10 s, or to RenewWithin, even
// if the errors ask for an hour: otherwise the lease expires.
func TestRenewalIsRetriedInAnOutage(t *testing.T) {
	for within, most := range map[time.Duration]time.Duration{0: 10 * time.Second, 2 * time.Second: 2 * time.Second, time.Nanosecond: 100 * time.Millisecond} {
		bubble(t, func(t *testing.T, r *rig) {
			var outage []time.Time // the times of its calls
			var up atomic.Bool
			r.store.Within = within
			r.store.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
				if up.Load() {
					return nil
				}
				outage = append(outage, time.Now())
				return generator.Passing{Err: leasestore.ErrClockSkew, After: time.Hour}
			}
			r.open(t)
			time.Sleep(time.Hour)
			synctest.Wait()
			last, seen := time.Duration(0), make(map[time.Duration]bool)
			for i, call := range outage[1:] {
				gap := call.Sub(outage[i])
				if gap < min(max(last, 50*time.Millisecond), most/2) || gap >= min(max(2*last, 100*time.Millisecond), most) {
					t.Fatalf("%v between the tries %d and %d, after %v", gap, i, i+1, last)
				}
				last, seen[gap] = gap, true
			}
			if failures := r.Failures.Load(); failures != int64(len(outage)) || len(seen) < 100 {
				t.Errorf("%d failures in %d calls, and %d different pauses, want them spread", failures, len(outage), len(seen))
			}
			up.Store(true)
			time.Sleep(10*time.Minute + 10*time.Second)
			synctest.Wait()
			if n := r.Renewals.Load(); n < 11 || n > 15 && within == 0 {
				t.Errorf("%d renewals in ten minutes after the recovery, want the heartbeat again", n)
			}
		})
	}
}

// A generator that repeats a refused request, as soon as the Keeper has reported the refusal, leads
// to calls with growing pauses, and a request that the store grants ends them.
func TestRefusedRequestThatIsRepeatedWaits(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		const year = 365 * 24 * 3600
		r.store.OnRenew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			if want < year {
				g.Last = max(g.Last, want)
			}
			return nil
		}
		r.open(t)
		for range 1000 { // a generator that waits for the refused delta
			changed := r.Changed()
			r.Extend(year)
			<-changed
		}
		if took := time.Since(r.start); took < time.Hour || took > 3*time.Hour {
			t.Errorf("1,000 requests took %v, want 5 to 10 s each", took)
		}
		r.Extend(year) // waits for the end of the pause, and ends with the lease
		r.Invalidate()
		synctest.Wait() // the pause does not delay the next lease
		r.Extend(150)
		synctest.Wait()
		if h := r.Current(); h.Generation != 2 || h.Last != 150 {
			t.Errorf("Current = %+v, want the second lease up to 150", h)
		}
	})
}

// A handler that writes JSON gets words, too.
func TestRecordsHaveWordsInJSON(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		s := r.settings()
		s.Logger = slog.New(slog.NewJSONHandler(&log, nil))
		r.store.Named = "orders"
		s.AssignTimeout = time.Millisecond // which is allowed
		fence(r)
		r.store.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error { return errors.New("store is down") }
		r.openWith(t, s)
		time.Sleep(45 * time.Second)
		synctest.Wait()
		for _, want := range []string{`"guarantee":"fenced"`, `"layout":"28/0/30/5@1s"`, `"namespace":"orders","datacenter"`, `"namespace":"orders","error":"store is down"`, `"ids_for":"1m40s"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("record %s, want %s", log.String(), want)
			}
		}
	})
}
