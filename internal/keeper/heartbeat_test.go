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

// TestLeaseIsRenewedOnceAMinute has a store that takes almost as long as it may, or never answers.
func TestLeaseIsRenewedOnceAMinute(t *testing.T) {
	for timeout, answers := range map[time.Duration]bool{
		time.Second: true, 10 * time.Second: true, 30 * time.Second: true, 59 * time.Second: true, 5 * time.Minute: false,
	} {
		t.Run(timeout.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.timeout = timeout
				var stamps stamps
				r.renew = func(ctx context.Context, _ *assigner.Grant, _, _ int64) error {
					stamps.add()
					if !answers {
						<-ctx.Done()
						return ctx.Err()
					}
					time.Sleep(timeout - time.Millisecond)
					return nil
				}
				r.open(t)
				time.Sleep(time.Hour)
				calls, last := stamps.read(), r.start
				for _, call := range calls {
					if gap := call.Sub(last); gap > time.Minute {
						t.Fatalf("%v between two renewals", gap)
					}
					last = call
				}
				if len(calls) < 60 {
					t.Errorf("%d renewals in an hour, want 60 at least", len(calls))
				}
			})
		})
	}
}

// A renewal that takes longer than the time to the next one does not lead to calls without a pause.
func TestRenewalsOfSlowStoreLeaveAPause(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Within = 200 * time.Millisecond
		var answered time.Time
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			if pause := time.Since(answered); pause < 100*time.Millisecond {
				t.Fatalf("a renewal began %v after the last one", pause)
			}
			time.Sleep(time.Second)
			answered = time.Now()
			return nil
		}
		r.open(t)
		time.Sleep(time.Minute)
		if n, _ := r.counts(); n < 50 {
			t.Errorf("%d renewals in a minute, want one after the other", n)
		}
	})
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
