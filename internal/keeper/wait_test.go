package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
)

// A retry is an error of an assigner that passes.
type retry struct {
	cause error
	after time.Duration
}

func (e *retry) Error() string             { return fmt.Sprintf("%v, retry after %v", e.cause, e.after) }
func (e *retry) Unwrap() error             { return e.cause }
func (e *retry) RetryAfter() time.Duration { return e.after }

// causes is an error that wraps an empty list.
type causes struct{}

func (causes) Error() string   { return "no causes" }
func (causes) Unwrap() []error { return nil }

// refuse makes the store answer the first calls of Assign with errors, and agree to those after
// them.
func refuse(r *rig, from int, errs ...error) {
	r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
		if n >= from && n < from+len(errs) {
			return assigner.Grant{}, errs[n-from]
		}
		return r.fresh(n), nil
	}
}

// waits returns the log records of waiting.
func waits(lines []string) int {
	n := 0
	for _, line := range lines {
		if strings.HasSuffix(line, "WARN waiting for a worker ID") {
			n++
		}
	}
	return n
}

func TestStartWaitsForEveryErrorThatPasses(t *testing.T) {
	exhausted := func(after time.Duration) error {
		return fmt.Errorf("assigner: 7 tries: %w", &retry{assigner.ErrWorkersExhausted, after})
	}
	for name, row := range map[string]struct {
		errs        []error
		least, most time.Duration
		records     int
	}{
		"exhausted":             {[]error{exhausted(20 * time.Second)}, 20 * time.Second, 22500 * time.Millisecond, 1},
		"again and again":       {[]error{exhausted(20 * time.Second), exhausted(10 * time.Second), exhausted(time.Second)}, 31 * time.Second, 35 * time.Second, 1},
		"at once is not at all": {[]error{exhausted(0), exhausted(-time.Hour), exhausted(math.MinInt64)}, 300 * time.Millisecond, 338 * time.Millisecond, 1},
		"joined": {[]error{
			&retry{errors.Join(fmt.Errorf("try 1: %w", assigner.ErrWorkersExhausted)), time.Second},
			&retry{errors.Join(fmt.Errorf("try 2: %w", assigner.ErrWorkersExhausted)), time.Second},
			&retry{errors.Join(assigner.ErrWorkersExhausted, errors.New("try 3")), time.Second},
		}, 3 * time.Second, 3375 * time.Millisecond, 1},
		"of no causes":     {[]error{&retry{causes{}, time.Second}}, time.Second, 1125 * time.Millisecond, 1},
		"never is an hour": {[]error{exhausted(math.MaxInt64)}, time.Hour, 68 * time.Minute, 1},
		"another cause": {[]error{exhausted(time.Second), &assigner.QuarantineError{Remaining: time.Second}, exhausted(time.Second)},
			3 * time.Second, 3375 * time.Millisecond, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				refuse(r, 0, row.errs...)
				r.open(t)
				if got := time.Since(r.start); got < row.least || got >= row.most {
					t.Errorf("Start has taken %v, want from %v to below %v", got, row.least, row.most)
				}
				if n := waits(r.Read()); n != row.records {
					t.Errorf("%d log records, want %d", n, row.records)
				}
				if _, failures := r.counts(); failures != 0 {
					t.Errorf("%d failures, but the store has not failed", failures)
				}
			})
		})
	}
}

// Two generators that are told the same come back at different times.
func TestWaitsAreSpread(t *testing.T) {
	seen := make(map[time.Duration]bool)
	for range 20 {
		bubble(t, func(t *testing.T, r *rig) {
			refuse(r, 0, &retry{assigner.ErrWorkersExhausted, time.Minute})
			r.open(t)
			seen[time.Since(r.start)] = true
		})
	}
	if len(seen) < 15 {
		t.Errorf("%d times in 20, want them spread", len(seen))
	}
}

// Start waits neither for an error that stays, nor with a context that never ends.
func TestStartFailsAtOnce(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		ends bool // the context
	}{
		"error that stays": {assigner.ErrWorkersExhausted, true},
		"endless context":  {&retry{assigner.ErrWorkersExhausted, time.Second}, false},
		"both":             {assigner.ErrWorkersExhausted, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				ctx := context.Background()
				if row.ends {
					ctx = t.Context()
				}
				refuse(r, 0, row.err)
				err := r.startIn(ctx, r.settings())
				if !errors.Is(err, assigner.ErrWorkersExhausted) || time.Since(r.start) != 0 {
					t.Errorf("Start = %v after %v, want the error at once", err, time.Since(r.start))
				}
				if strings.Contains(err.Error(), "NewContext waits") != (name == "endless context") {
					t.Errorf("Start = %v, want the advice only for a context that never ends", err)
				}
				if n := waits(r.Read()); n != 0 {
					t.Errorf("%d log records of a wait that was none", n)
				}
			})
		})
	}
}

// A start that ends with its context names why it had no worker ID, wherever the context ends.
func TestStartThatEndsNamesTheCause(t *testing.T) {
	exhausted := &retry{assigner.ErrWorkersExhausted, 10 * time.Second}
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, row := range map[string]struct {
		second func(ctx context.Context) error // the answer of the second call
		want   []error
		words  string
	}{
		"in a wait":            {func(context.Context) error { return exhausted }, []error{context.DeadlineExceeded, assigner.ErrWorkersExhausted}, "deadline exceeded: assigner: worker IDs exhausted"},
		"in a call":            {hang, []error{context.DeadlineExceeded, assigner.ErrWorkersExhausted}, "deadline exceeded; before that: assigner: worker IDs exhausted"},
		"with another failure": {func(context.Context) error { return assigner.ErrStoreNotDurable }, []error{assigner.ErrStoreNotDurable, assigner.ErrWorkersExhausted}, "not durable; before that: "},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
					if n == 0 {
						return assigner.Grant{}, exhausted
					}
					return assigner.Grant{}, row.second(ctx)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				err := r.startIn(ctx, r.settings())
				for _, want := range row.want {
					if !errors.Is(err, want) {
						t.Errorf("Start = %v, want %v in it", err, want)
					}
				}
				if err == nil || !strings.Contains(err.Error(), row.words) || time.Since(r.start) > 15*time.Second {
					t.Errorf("Start = %v after %v, want %q", err, time.Since(r.start), row.words)
				}
			})
		})
	}
}

// In service, too, an error that passes is no failure, and is logged when its cause changes.
func TestErrorThatPassesInServiceIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var errs []error
		for range 50 {
			errs = append(errs, &retry{assigner.ErrWorkersExhausted, 2 * time.Second})
		}
		errs = append(errs, &retry{assigner.ErrWorkerAheadOfClock, time.Minute})
		refuse(r, 1, errs...)
		lose(r)
		r.open(t)
		time.Sleep(44 * time.Second) // the lease is lost a second later
		r.Read()
		for range 1010 {
			r.Extend(int64(time.Since(r.start)))
			time.Sleep(100 * time.Millisecond)
		}
		if n := r.store.Assigns.Load(); n < 44 || n > 52 {
			t.Errorf("%d calls in 100 s, want one in 2 s and a little more", n)
		}
		time.Sleep(time.Minute + 30*time.Second)
		if h := r.Current(); h == nil || h.WorkerID != r.first+52 {
			t.Errorf("Current = %+v, want a lease", h)
		}
		if _, failures := r.counts(); failures != 0 {
			t.Errorf("%d failures, but the store has not failed", failures)
		}
		lines := r.Read()
		if n := waits(lines); n != 2 || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "answers again") }) {
			t.Errorf("log %q, want two records of waiting, and no end of an outage", lines)
		}
	})
}

// A failed renewal is retried soon, even if its error asks to wait longer: otherwise the lease
// expires.
func TestRenewalIsNotPutOff(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var calls stamps
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			calls.add()
			return &retry{assigner.ErrClockSkew, time.Hour}
		}
		r.open(t)
		time.Sleep(2 * time.Minute)
		if _, failures := r.counts(); len(calls.read()) < 10 || failures < 10 {
			t.Errorf("%d failures in two minutes, want tries that go on", failures)
		}
	})
}

// An outage in the middle of a wait is logged, and so is the wait that goes on after it.
func TestOutageInTheMiddleOfAWaitIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		exhausted := &retry{assigner.ErrWorkersExhausted, time.Second}
		refuse(r, 1, exhausted, exhausted, errors.New("down"), errors.New("down again"), exhausted, exhausted)
		lose(r)
		r.open(t)
		time.Sleep(2 * time.Minute)
		var log []string
		for _, line := range r.Read() {
			if _, record, ok := strings.Cut(line, " WARN "); ok {
				log = append(log, record)
			}
		}
		same(t, log, "waiting for a worker ID", "worker ID: call to the store failed", "waiting for a worker ID")
	})
}

// A store that bounds fences by its clock gives more as time passes: it is asked again without
// being waited for.
func TestLossyStoreIsAskedAgainEverySecond(t *testing.T) {
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
