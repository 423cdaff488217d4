package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
)

// A renewal comes before the lease expires, and before the clock is half way to the limit.
func TestLeaseIsRenewedInTime(t *testing.T) {
	for name, row := range map[string]struct {
		within time.Duration
		limit  int64
		want   time.Duration
	}{
		"by the heartbeat":        {0, assigner.Unlimited, 45 * time.Second},
		"before it expires":       {10 * time.Second, assigner.Unlimited, 10 * time.Second},
		"not without a pause":     {1, assigner.Unlimited, 100 * time.Millisecond},
		"half way to the limit":   {0, 40, 20 * time.Second},
		"by the heartbeat, there": {0, 400, 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.store.Within = row.within
				r.assign = func(context.Context, int) (assigner.Grant, error) {
					return assigner.Grant{WorkerID: r.first, First: 1, Limit: row.limit}, nil
				}
				r.open(t)
				r.Read()
				time.Sleep(row.want)
				synctest.Wait()
				same(t, r.Read(), fmt.Sprintf("%v renew 0, 0 to 0", row.want))
			})
		})
	}
}

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
				r.renew = func(ctx context.Context, _ *assigner.Grant, _, _ int64) error {
					if gap := time.Since(last); gap > time.Minute || time.Since(answered) < 50*time.Millisecond {
						t.Errorf("a renewal began %v after the last one, and %v after its answer", gap, time.Since(answered))
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

// TestOutageIsRetriedAndLoggedOnce has an outage of an hour.
func TestOutageIsRetriedAndLoggedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var up atomic.Bool
		var stamps stamps
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			stamps.add()
			if up.Load() {
				return nil
			}
			return errors.New("store is down")
		}
		r.open(t)
		r.Read()
		time.Sleep(time.Hour)
		synctest.Wait()
		calls := stamps.read()
		for i, call := range calls[1:] {
			gap := call.Sub(calls[i])
			if gap < 50*time.Millisecond || gap > 10*time.Second || i > 20 && gap < 4*time.Second {
				t.Fatalf("%v between the tries %d and %d, want from 50ms up to 10s, and seconds in the end", gap, i, i+1)
			}
		}
		if _, failures := r.counts(); failures != int64(len(calls)) {
			t.Errorf("%d failures, want %d", failures, len(calls))
		}
		logged := func() []string {
			return slices.DeleteFunc(r.Read(), func(line string) bool {
				return !strings.Contains(line, "INFO") && !strings.Contains(line, "WARN") && !strings.Contains(line, "ERROR")
			})
		}
		same(t, logged(), "45s WARN worker ID: call to the store failed")
		up.Store(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if lines := logged(); len(lines) != 1 || !strings.HasSuffix(lines[0], "INFO worker ID: the store answers again") {
			t.Errorf("log records of the recovery: %q, want one", lines)
		}
		stamps.read()
		time.Sleep(10 * time.Minute)
		if n := len(stamps.read()); n < 10 || n > 14 {
			t.Errorf("%d renewals in ten minutes after the recovery, want the heartbeat again", n)
		}
	})
}

func TestDelayGrowsAndIsSpread(t *testing.T) {
	for _, row := range []struct{ last, least, most time.Duration }{
		{0, 50 * time.Millisecond, 100 * time.Millisecond},
		{50 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond},
		{time.Second, time.Second, 2 * time.Second},
		{5 * time.Second, 5 * time.Second, 10 * time.Second},
		{10 * time.Second, 5 * time.Second, 10 * time.Second},
	} {
		seen := make(map[time.Duration]bool)
		for range 100 {
			d := keeper.NextDelay(row.last)
			if d < row.least || d >= row.most {
				t.Fatalf("nextDelay(%v) = %v, want from %v to below %v", row.last, d, row.least, row.most)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("nextDelay(%v): %d values in 100, want them spread", row.last, len(seen))
		}
	}
}
