package keeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A renewal comes before the lease expires, and before the clock is half way to the limit.
func TestLeaseIsRenewedInTime(t *testing.T) {
	const fenced, lossy = assigner.GuaranteeFenced, assigner.GuaranteeLossy
	for name, row := range map[string]struct {
		within    time.Duration
		unit      time.Duration
		limit     int64
		used      int64
		guarantee assigner.Guarantee
		want      time.Duration
	}{
		"by the heartbeat":        {0, time.Second, assigner.Unlimited, 0, fenced, 45 * time.Second},
		"before it expires":       {10 * time.Second, time.Second, assigner.Unlimited, 0, fenced, 10 * time.Second},
		"not without a pause":     {1, time.Second, assigner.Unlimited, 0, fenced, 100 * time.Millisecond},
		"half way to the limit":   {0, time.Second, 40, 0, fenced, 20 * time.Second},
		"by the heartbeat, there": {time.Hour, time.Second, 400, 0, fenced, 45 * time.Second},
		"in short units":          {0, time.Millisecond, 40, 0, fenced, 100 * time.Millisecond},
		"ahead of the clock":      {0, time.Second, 40, 38, fenced, 20 * time.Second},
		"at the limit":            {0, time.Second, 1, 1, fenced, 45 * time.Second},
		"lossy":                   {0, time.Second, 40, 0, lossy, 20 * time.Second},
		"lossy, at the limit":     {0, time.Second, 40, 40, lossy, time.Second}, // the store's clock moves it
		"lossy, and expires":      {500 * time.Millisecond, time.Second, 40, 40, lossy, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.store.Within = row.within
				r.assign = func(context.Context, int) (assigner.Grant, error) {
					return assigner.Grant{WorkerID: r.first, First: 1, Last: row.limit, Guarantee: row.guarantee}, nil
				}
				r.used.Store(row.used)
				cfg := r.settings()
				cfg.Layout.Unit = row.unit
				r.openWith(t, cfg)
				r.Read()
				changed := r.Changed()
				time.Sleep(row.want)
				synctest.Wait()
				same(t, r.Read(), fmt.Sprintf("%v renew 0, %d to %d", row.want, row.used, row.used))
				if renewals, _ := r.counts(); renewals != 1 || changed != r.Changed() {
					t.Errorf("%d renewals, want 1, and the generator is not woken for the same limit", renewals)
				}
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

// The pauses in an outage of an hour grow from 50 to 100 ms to 5 to 10 s, even if the errors ask
// for an hour: otherwise the lease expires.
func TestRenewalIsRetriedInAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var outage []time.Time // the times of its calls
		var up atomic.Bool
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
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
			if gap < min(max(last, 50*time.Millisecond), 5*time.Second) || gap >= min(max(2*last, 100*time.Millisecond), 10*time.Second) {
				t.Fatalf("%v between the tries %d and %d, after %v", gap, i, i+1, last)
			}
			last, seen[gap] = gap, true
		}
		if _, failures := r.counts(); failures != int64(len(outage)) || len(seen) < 100 {
			t.Errorf("%d failures in %d calls, and %d different pauses, want them spread", failures, len(outage), len(seen))
		}
		up.Store(true)
		time.Sleep(10*time.Minute + 10*time.Second)
		synctest.Wait()
		if n, _ := r.counts(); n < 11 || n > 15 {
			t.Errorf("%d renewals in ten minutes after the recovery, want the heartbeat again", n)
		}
	})
}

// Operators search and alert for levels, messages and keys; docs/OPERATIONS.md lists them.
func TestLogRecords(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log testkit.Recorder
		s := r.settings()
		s.Logger, s.Trace = log.TextLogger(), keeper.Trace{LeaseKept: func(assigner.LeaseInfo) { panic("a mistake") }}
		r.first = 1
		r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
			if n == 1 {
				return assigner.Grant{}, generator.Passing{Err: fmt.Errorf("%w: the store is another one", assigner.ErrQuarantined), After: 40 * time.Second}
			}
			return r.fresh(n), nil
		}
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			switch r.store.Renewals.Load() {
			case 1, 2, 3:
				return errors.New("connection refused")
			case 5:
				return fmt.Errorf("%w: taken over by \"b\"", assigner.ErrWorkerRowLost)
			}
			return nil
		}
		answer := errors.New("connection refused")
		r.release = func(context.Context, int64) error { return answer }
		r.openWith(t, s)
		time.Sleep(3 * time.Minute)
		const aYearLeft = 1<<28 - 365*24*60*60
		r.used.Store(aYearLeft)
		time.Sleep(2 * time.Minute)
		r.used.Store(0)
		r.Invalidate()
		synctest.Wait()
		r.used.Store(aYearLeft + 1)
		time.Sleep(time.Minute)
		r.used.Store(0)
		_ = r.Close()
		answer = nil
		r.openWith(t, s)
		_ = r.Close()
		records := log.Read()
		for i := range records { // the pauses are random
			records[i] = regexp.MustCompile(`ahead=\d+h\d+m0s`).ReplaceAllString(records[i], "ahead=(hours)")
		}
		same(t, records, strings.Split(`level=INFO msg="worker ID assigned" library=uidring worker=1 datacenter=0 guarantee=fresh layout=28/0/30/5@1s ends=2034-07-04
level=WARN msg="worker ID: call to the store failed" worker=1 error="connection refused" last_answer=2000-01-01T00:00:00Z
level=INFO msg="worker ID: the store answers again" worker=1
level=ERROR msg="panic in Trace.LeaseKept" panic="a mistake" stack="(of a goroutine)"
level=ERROR msg="worker ID lost" worker=1 error="assigner: worker row lost: taken over by \"b\""
level=WARN msg="waiting for a worker ID" retry=40s error="assigner: worker ID in quarantine: the store is another one"
level=ERROR msg="worker ID: callers get no IDs" worker=1 calls="Next returns ErrLeaseExhausted, NextContext waits" remedy="bring the store back; do not restart processes, since a start needs the store" error="assigner: worker ID in quarantine: the store is another one"
level=INFO msg="worker ID assigned" library=uidring worker=3 datacenter=0 guarantee=fresh layout=28/0/30/5@1s ends=2034-07-04
level=WARN msg="ID time runs ahead of the clock" ahead=(hours) layout=28/0/30/5@1s remedy="a layout with more sequence bits, or MaxAhead to bound it"
level=INFO msg="worker ID invalidated" worker=3
level=INFO msg="worker ID assigned" library=uidring worker=4 datacenter=0 guarantee=fresh layout=28/0/30/5@1s ends=2034-07-04
level=WARN msg="the delta field is used up within a year" expires=2034-07-04T21:24:16.000Z layout=28/0/30/5@1s
level=WARN msg="worker ID not released" worker=4 error="connection refused"
level=INFO msg="worker ID assigned" library=uidring worker=5 datacenter=0 guarantee=fresh layout=28/0/30/5@1s ends=2034-07-04
level=INFO msg="worker ID released" worker=5`, "\n")...)
	})
}

// Both the present reading of the clock and the reading carried on must say that ID time is ahead.
func TestStepOfTheClockIsNoLead(t *testing.T) {
	for by, ahead := range map[time.Duration]int64{-time.Hour: 0, time.Hour: 3600} {
		bubble(t, func(t *testing.T, r *rig) {
			s := r.settings()
			clock, step := s.Now, time.Duration(0)
			s.Now = func() time.Time { return clock().Add(step) }
			r.openWith(t, s)
			step = by
			r.ahead.Store(ahead)
			time.Sleep(time.Minute)
			if log := warnings(r); log != nil {
				t.Errorf("after a step of %v: %q", by, log)
			}
		})
	}
}

// A worker ID that begins more than 3 s and three units ahead of the clock is logged, with the
// effect on callers.
func TestStartAheadOfTheClockIsLogged(t *testing.T) {
	for _, row := range []struct {
		unit        time.Duration
		first, most int64 // of the grant, and MaxAhead
		want        string
	}{
		{time.Second, 3, 0, ""},
		{time.Second, 4, 4, `ahead=4s until=2026-01-01T00:00:04Z calls="IDs have a time that is so far ahead of the clock"`},
		{time.Second, 4, 3, `ahead=4s until=2026-01-01T00:00:04Z calls="Next returns an error until then, NextContext waits"`},
		{time.Minute, 3, 0, ""},
		{time.Millisecond, 3000, 0, ""},
		{time.Millisecond, 3001, 3001, "ahead=3.001s "},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			var log testkit.Recorder
			s := r.settings()
			s.Logger, s.Layout.Unit, s.MaxAhead = log.TextLogger(), row.unit, row.most
			r.assign = func(context.Context, int) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: r.first, First: row.first, Last: 10_000, Guarantee: assigner.GuaranteeFenced}, nil
			}
			r.openWith(t, s)
			lines := strings.Join(log.Read()[1:], "\n")
			if logged := strings.Contains(lines, "worker ID begins ahead of the clock"); logged != (row.want != "") || !strings.Contains(lines, row.want) {
				t.Errorf("%+v: %q", row, lines)
			}
		})
	}
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
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error { return errors.New("store is down") }
		r.openWith(t, s)
		time.Sleep(45 * time.Second)
		synctest.Wait()
		for _, want := range []string{`"guarantee":"fenced"`, `"layout":"28/0/30/5@1s"`, `"namespace":"orders"`, `"ids_for":"1m40s"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("record %s, want %s", log.String(), want)
			}
		}
	})
}

// The records of an outage: how long the grant lasts, that callers get no IDs, and the end. Callers
// that get no IDs while the store answers, as in a burst, are not logged.
func TestOutageIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log testkit.Recorder
		s := r.settings()
		s.Logger, s.Trace = log.TextLogger(), keeper.Trace{}
		fence(r)
		var down atomic.Bool
		r.renew = func(_ context.Context, g *assigner.Grant, _, _ int64) error {
			if down.Load() {
				return errors.New("connection refused")
			}
			g.Last = int64(time.Since(r.start)/time.Second) + 100
			return nil
		}
		r.first = 1
		r.openWith(t, s)
		r.ahead.Store(r.Current().Last + 1)
		time.Sleep(30 * time.Second)
		down.Store(true)
		r.ahead.Store(60)
		log.Read()
		time.Sleep(40 * time.Second)
		same(t, log.Read(), `level=WARN msg="worker ID: call to the store failed" worker=1 error="connection refused" last_answer=2000-01-01T00:00:00Z ids_for=30s ids_until=2000-01-01T00:01:15Z`)
		r.ahead.Store(r.Current().Last)
		time.Sleep(time.Minute)
		down.Store(false)
		time.Sleep(10 * time.Second)
		same(t, log.Read(), strings.Split(`level=ERROR msg="worker ID: callers get no IDs" worker=1 calls="Next returns ErrLeaseExhausted, NextContext waits" remedy="bring the store back; do not restart processes, since a start needs the store" error="connection refused"
level=INFO msg="worker ID: the store answers again" worker=1`, "\n")...)
		down.Store(true) // again
		r.ahead.Store(r.Current().Last)
		time.Sleep(time.Minute)
		if lines := log.Read(); len(lines) != 2 || !strings.HasPrefix(lines[1], `level=ERROR msg="worker ID: callers get no IDs"`) {
			t.Errorf("records of a second outage: %q", lines)
		}
	})
}

// A start without an answer names the reason after a second, if the store has told one.
func TestSlowStartIsLogged(t *testing.T) {
	for name, failure := range map[string]error{"the store has not answered yet": nil, "connection refused": errors.New("connection refused")} {
		bubble(t, func(t *testing.T, r *rig) {
			var log testkit.Recorder
			s := r.settings()
			s.Logger, s.Trace = log.TextLogger(), keeper.Trace{}
			s.AssignTimeout = 1400 * time.Millisecond // a lease that comes later counts, too
			r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
				if failure != nil {
					storecall.Failed(ctx, failure)
				}
				time.Sleep(1500 * time.Millisecond)
				same(t, log.Read(), fmt.Sprintf("level=WARN msg=\"waiting for a worker ID\" error=%q", name))
				return r.fresh(n), nil
			}
			r.openWith(t, s)
		})
	}
}
