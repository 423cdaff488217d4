package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// A store that bounds fences by its clock gives more as time passes: it is asked again without
// being waited for.
func TestLossyStoreIsAskedAgainEverySecond(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		bound := func() int64 { return int64(time.Since(r.start)/time.Second) + 30 }
		r.store.OnAssign = func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first, First: 1, Last: bound(), Guarantee: assigner.GuaranteeLossy}, nil
		}
		r.store.OnRenew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
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
					r.store.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
						if nth <= len(row.errs) {
							return assigner.Grant{}, row.errs[nth-1]
						}
						return r.fresh(ctx, nth, d)
					}
					r.open(t)
					if got := time.Since(r.start); got < row.least || got >= row.most {
						t.Errorf("Start has taken %v, want from %v to below %v", got, row.least, row.most)
					}
					if n := strings.Count(strings.Join(r.Read(), "\n"), "WARN "); n != row.records {
						t.Errorf("%d log records, want %d", n, row.records)
					}
					if n := r.Failures.Load(); n != 0 {
						t.Errorf("%d failures, but the store has not failed", n)
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

// The pauses of a start grow from 50 to 100 ms to a second while the store is away, which the log
// has once.
func TestStartAsksAStoreThatIsAwayEachSecond(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var calls []time.Time
		r.store.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
			if calls = append(calls, time.Now()); len(calls) == 15 {
				return r.fresh(ctx, nth, d)
			}
			return assigner.Grant{}, []error{storecall.Away{Err: errors.New("busy")}, context.DeadlineExceeded, io.ErrUnexpectedEOF}[nth%3]
		}
		r.open(t)
		last := 50 * time.Millisecond
		for i, call := range calls[1:] {
			gap := call.Sub(calls[i])
			if gap < min(last, time.Second) || gap > time.Second || i == 0 && gap >= 100*time.Millisecond || i == 13 && gap != time.Second {
				t.Errorf("%v between the calls %d and %d, after %v", gap, i, i+1, last)
			}
			last = gap
		}
		if n := strings.Count(strings.Join(r.Read(), "\n"), "WARN "); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
}

// A func of Trace that takes an ID is not called for its own error, but for the errors of others.
func TestTakeRejectedIsNotNested(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		calls, s := 0, r.settings()
		s.Trace.TakeRejected = func(uidring.TakeRejectedInfo) {
			if calls++; calls > 1 {
				return
			}
			_ = r.Rejected(uidring.ErrEmpty)
			var others sync.WaitGroup
			others.Go(func() { _ = r.Rejected(uidring.ErrEmpty) })
			others.Wait()
		}
		r.openWith(t, s)
		for range 2 {
			calls = 0
			if _ = r.Rejected(uidring.ErrEmpty); calls != 2 {
				t.Errorf("%d calls, want 2", calls)
			}
		}
		if n := r.Rejections.Load(); n != 6 {
			t.Errorf("%d rejected takes, want 6", n)
		}
	})
}

func TestTimeouts(t *testing.T) {
	for unit, start := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Second: 30 * time.Second, time.Minute: 2 * time.Minute} {
		layout := bitsalloc.Default()
		layout.Unit = unit
		k, mistakes := keeper.New(keeper.Settings{Layout: layout, Assigner: &fakeassigner.Assigner{}})
		if err := mistakes.Err(); err != nil || k.AssignTimeout != 10*time.Second {
			t.Errorf("unit %v: AssignTimeout %v, want 10s: %v", unit, k.AssignTimeout, err)
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := keeper.StartContext(0, layout)
			defer cancel()
			if end, _ := ctx.Deadline(); time.Until(end) != start {
				t.Errorf("unit %v: StartTimeout %v, want %v", unit, time.Until(end), start)
			}
		})
	}
}
