package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
)

// warnings returns the warnings in the log since the last call.
func warnings(r *rig) (log []string) {
	for _, line := range r.Read() {
		if _, record, ok := strings.Cut(line, " WARN "); ok {
			log = append(log, record)
		}
	}
	return log
}

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

// A store that bounds fences by its clock gives more as time passes: it is asked again without
// being waited for.
func TestLossyStoreIsAskedAgainEverySecond(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		bound := func() int64 { return int64(time.Since(r.start)/time.Second) + 30 }
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first, First: 1, Last: bound(), Guarantee: assigner.GuaranteeLossy}, nil
		}
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			g.Last = bound()
			return nil
		}
		r.open(t)
		r.used.Store(30)
		go func() { // the store refuses the request again and again, which does not put off the renewals
			for t.Context().Err() == nil {
				changed := r.Changed()
				r.Extend(1000)
				select {
				case <-changed:
				case <-t.Context().Done():
				}
			}
		}()
		for i := range int64(60) {
			synctest.Wait()
			if got := r.Current().Last; got < 30+i-1 || got > 30+i {
				t.Fatalf("Last = %d after %d s, want %d or one less", got, i, 30+i)
			}
			r.used.Store(r.Current().Last)
			time.Sleep(time.Second)
		}
	})
}

func TestStartWaitsForEveryErrorThatPasses(t *testing.T) {
	exhausted := func(after time.Duration) error {
		return fmt.Errorf("assigner: 7 tries: %w", generator.Passing{Err: assigner.ErrWorkersExhausted, After: after})
	}
	for name, row := range map[string]struct {
		errs        []error
		least, most time.Duration
		records     int
	}{
		"again and again":       {[]error{exhausted(20 * time.Second), exhausted(10 * time.Second), exhausted(time.Second)}, 31 * time.Second, 35 * time.Second, 1},
		"at once is not at all": {[]error{exhausted(0), exhausted(-time.Hour), exhausted(math.MinInt64)}, 300 * time.Millisecond, 338 * time.Millisecond, 1},
		"never is an hour":      {[]error{exhausted(math.MaxInt64)}, time.Hour, time.Hour + 5*time.Second, 1},
		"another kind": {[]error{exhausted(time.Second), struct{ generator.Passing }{generator.Passing{Err: assigner.ErrQuarantined, After: time.Second}}, exhausted(time.Second)},
			3 * time.Second, 3375 * time.Millisecond, 3},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(map[time.Duration]bool)
			for range 20 {
				bubble(t, func(t *testing.T, r *rig) {
					refuse(r, 0, row.errs...)
					r.open(t)
					if got := time.Since(r.start); got < row.least || got >= row.most {
						t.Errorf("Start has taken %v, want from %v to below %v", got, row.least, row.most)
					}
					if n := len(warnings(r)); n != row.records {
						t.Errorf("%d log records, want %d", n, row.records)
					}
					if _, failures := r.counts(); failures != 0 {
						t.Errorf("%d failures, but the store has not failed", failures)
					}
					seen[time.Since(r.start)] = true
				})
			}
			if len(seen) < 15 {
				t.Errorf("%d times in 20, want them spread", len(seen))
			}
		})
	}
}

// The clock of a lease goes on from the reading of Assign, or from the clock of the lease before if
// that is ahead.
func TestClockOfALeaseDoesNotGoBack(t *testing.T) {
	for skew, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, -time.Hour: 0} {
		bubble(t, func(t *testing.T, r *rig) {
			cfg := r.settings()
			clock, by := cfg.Now, time.Duration(0)
			cfg.Now = func() time.Time { return clock().Add(by) }
			r.openWith(t, cfg)
			before := r.Current().Clock.Now()
			by = skew
			r.Invalidate()
			synctest.Wait()
			if h := r.Current(); h.Clock.Now().Sub(before) != want || h.Delta != int64(skew/time.Second) {
				t.Errorf("with a clock that is %v ahead, the lease is at %v, delta %d, want %v ahead", skew, h.Clock.Now(), h.Delta, want)
			}
		})
	}
}

// Start waits neither for an error that stays, nor for a second answer when ctx ends before it. Its
// error names all reasons.
func TestStartFails(t *testing.T) {
	hang := errors.New("no answer")
	passes := generator.Passing{Err: assigner.ErrWorkersExhausted, After: 10 * time.Second}
	for name, row := range map[string]struct {
		errs  []error
		limit time.Duration // of the context; 0: none
		after time.Duration
		want  []error
		words string
	}{
		"error that stays": {[]error{leasestore.ErrNotDurable}, time.Hour, 0, []error{leasestore.ErrNotDurable}, ""},
		"no answer":        {[]error{hang, hang, hang}, 25 * time.Second, 25 * time.Second, []error{context.DeadlineExceeded}, "no answer within AssignTimeout, 10s: "},
		"end in a call":    {[]error{hang}, time.Second / 2, time.Second / 2, []error{context.DeadlineExceeded}, "no worker ID: context deadline exceeded"},
		"end in a wait":    {[]error{passes}, 5 * time.Second, 0, []error{assigner.ErrWorkersExhausted}, "no worker ID: assigner: worker IDs exhausted"},
		"end after a wait": {[]error{passes, hang}, 15 * time.Second, 15 * time.Second, []error{context.DeadlineExceeded, assigner.ErrWorkersExhausted}, "deadline exceeded: no answer; before that: assigner: worker IDs exhausted"},
		"stays, after a wait": {[]error{passes, leasestore.ErrNotDurable}, time.Hour, 12 * time.Second,
			[]error{leasestore.ErrNotDurable, assigner.ErrWorkersExhausted}, "not durable; before that: "},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.assign = func(ctx context.Context, n int) (assigner.Grant, error) {
					if row.errs[n] == hang {
						<-ctx.Done()
					}
					return assigner.Grant{}, row.errs[n]
				}
				ctx := context.Background()
				if row.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.limit)
					defer cancel()
				}
				err := r.startIn(ctx, r.settings())
				for _, want := range row.want {
					if !errors.Is(err, want) {
						t.Errorf("Start = %v, want %v in it", err, want)
					}
				}
				if _, again := uidring.RetryAfter(err); again == errors.Is(err, leasestore.ErrNotDurable) {
					t.Errorf("Start = %v, which passes: %t", err, again)
				}
				took := time.Since(r.start)
				if err == nil || !strings.Contains(err.Error(), row.words) || strings.Contains(err.Error(), "%!") || took < row.after-2*time.Second || took > row.after {
					t.Errorf("Start = %v after %v, want %q after %v", err, took, row.words, row.after)
				}
				if n := len(warnings(r)); (n > 0) != (len(row.errs) > 1 || name == "end in a wait") {
					t.Errorf("%d log records of waits", n)
				}
			})
		})
	}
}

func TestCurrentUnitCountsAsUsedByAnEarlierProcess(t *testing.T) {
	for name, row := range map[string]struct {
		grant assigner.Grant
		first int64
	}{
		"reusable": {assigner.Grant{First: 1, Last: assigner.Unlimited, Reusable: true}, 61},
		"ahead":    {assigner.Grant{First: 500, Last: assigner.Unlimited, Reusable: true}, 500},
		"fresh":    {assigner.Grant{First: 1, Last: assigner.Unlimited}, 1},
		"fenced":   {assigner.Grant{First: 40, Last: 100, Reusable: true}, 40},
		"a fence":  {assigner.Grant{First: 80, Last: 100, Reusable: true}, 80},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				row.grant.WorkerID = r.first
				r.assign = func(context.Context, int) (assigner.Grant, error) { return row.grant, nil }
				cfg := r.settings()
				// In a domain of its own the registry has no other worker IDs to begin above.
				now, own := cfg.Now, ownDomain().Epoch
				cfg.Now = func() time.Time { return now().Add(own.Sub(bitsalloc.DefaultEpoch())) }
				cfg.Epoch = own
				time.Sleep(time.Minute)
				r.openWith(t, cfg)
				if h := r.Current(); h.First != row.first || h.Delta != 60 {
					t.Errorf("Current = %+v, want First %d, Delta 60", h, row.first)
				} else if unused := max(h.First, 61); h.Fenced() && h.Half != h.Last-(h.Last-unused+1)/2 {
					t.Errorf("Current = %+v, want half of the deltas from %d on", h, unused)
				}
			})
		})
	}
}

// The wall clock goes on while a machine is suspended, and the monotonic clock stands still. A key
// of Sticky may have had another holder meanwhile.
func TestClockIsReadAfterAnAssignerThatDoesNotReadIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		cfg := r.settings()
		clock, suspended := cfg.Now, time.Duration(0)
		cfg.Now = func() time.Time { return clock().Add(suspended) }
		r.assign = func(_ context.Context, nth int) (assigner.Grant, error) {
			suspended += 10 * time.Minute
			return assigner.Grant{WorkerID: r.first + int64(nth), First: 1, Last: assigner.Unlimited, Reusable: true}, nil
		}
		r.openWith(t, cfg)
		if h := r.Current(); h.First != 601 || h.Delta != 600 {
			t.Errorf("Current = %+v, want First 601, Delta 600", h)
		}
		r.Invalidate()
		synctest.Wait()
		if h := r.Current(); h.First != 1201 || h.Delta != 1200 {
			t.Errorf("Current = %+v, want First 1201, Delta 1200", h)
		}
	})
}
