package keeper_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
)

func fence(r *rig) {
	r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
		return assigner.Grant{WorkerID: r.first + int64(n), First: 1, Last: 100, Guarantee: assigner.GuaranteeFenced}, nil
	}
	r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
		g.Last = max(g.Last, want)
		return nil
	}
}

// A generator that has gone on from an earlier lease may be beyond the present one, but never
// beyond all.
func TestUsedIsWithinTheGrantsSoFar(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first + int64(n), First: 1, Last: 500 - 400*int64(n), Guarantee: assigner.GuaranteeFenced}, nil
		}
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			if g.WorkerID == r.first {
				return assigner.ErrWorkerRowLost
			}
			g.Last = min(want, 470)
			return nil
		}
		r.open(t)
		r.used.Store(450)
		time.Sleep(45 * time.Second)
		synctest.Wait()
		r.Read()
		r.Extend(460)
		synctest.Wait()
		r.used.Store(1 << 40)
		r.Extend(470)
		synctest.Wait()
		same(t, r.Read(), "45s renew 1, 450 to 460", "45s renew 1, 500 to 1099511627776")
		if half := r.Current().Half; half != 470 {
			t.Errorf("Half %d, want the limit, 470", half)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		same(t, r.Read(), "45s ended", "45s release 1, 1099511627776", "45s INFO worker ID released")
	})
}

// A position that is wrong for a moment, beyond the grant of the store, does not distort the pace.
func TestPositionBeyondTheGrantIsNoPace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.renew = func(_ context.Context, g *assigner.Grant, used, _ int64) error {
			g.Last = max(g.Last, used+100)
			return nil
		}
		r.open(t)
		time.Sleep(10 * time.Second)
		r.used.Store(10)
		r.ahead.Store(1 << 27)
		r.Extend(101)
		synctest.Wait()
		r.ahead.Store(0)
		if h := r.Current(); h.Last != 110 || h.Half != 60 {
			t.Errorf("Last %d, Half %d, want 110, 60", h.Last, h.Half)
		}
		time.Sleep(10 * time.Second)
		r.used.Store(20)
		if _, lasts := r.Window(); lasts != 90*time.Second {
			t.Errorf("the window lasts %v, want 1m30s", lasts)
		}
		r.ahead.Store(40)
		r.Extend(111)
		time.Sleep(10 * time.Second)
		if h := r.Current(); h.Last != 120 || h.Half != 80 {
			t.Errorf("Last %d, Half %d, want 120, 80", h.Last, h.Half)
		}
	})
}

// The generator may use the deltas that a renewal has granted.
func TestUsedFollowsTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.open(t)
		r.Read()
		for _, used := range []int64{90, 190} {
			r.used.Store(used)
			r.Extend(used + 110)
			synctest.Wait()
		}
		same(t, r.Read(), "0s renew 0, 90 to 200", "0s renew 0, 190 to 300")
	})
}

// A request leads to a renewal at once, which wakes the generator. A request during a renewal is
// heard, and not sent when the renewal has granted it.
func TestExtendIsHeardWhileARenewalIsUnderWay(t *testing.T) {
	for least, want := range map[int64][]string{
		0:   {"0s renew 0, 90 to 120", "1s renew 0, 90 to 130"},
		130: {"0s renew 0, 90 to 120"},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			fence(r)
			r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
				g.Last = max(least, want)
				return nil
			}
			renewSlowly(r)
			r.open(t)
			r.Read()
			r.used.Store(90)
			changed := r.Changed()
			r.Extend(120)
			time.Sleep(500 * time.Millisecond)
			r.Extend(130)
			<-changed
			time.Sleep(5 * time.Second)
			same(t, r.Read(), want...)
			if h := r.Current(); h.Last != 130 || h.First != 1 || h.Generation != 1 || h != r.Latest() {
				t.Errorf("Current = %+v, Latest = %+v, want the limit 130 and the rest as it was", h, r.Latest())
			}
		})
	}
}

// A refused request may come from a clock that was a year ahead for a moment: it is dropped. A
// generator that repeats it, as soon as the Keeper has reported the refusal, leads to calls with
// growing pauses, and a request that the store grants ends them.
func TestRefusedRequestIsDroppedAndTheNextOneWaits(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		const year = 365 * 24 * 3600
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			if want < year {
				g.Last = max(g.Last, want)
			}
			return nil
		}
		r.open(t)
		r.Read()
		r.Extend(year)
		time.Sleep(30 * time.Second)
		if lines := r.Read(); len(lines) != 2 || lines[0] != "0s renew 0, 0 to 31536000" || !strings.HasSuffix(lines[1], "renew 0, 0 to 0") {
			t.Errorf("events %q, want one request and one renewal without it", lines)
		}
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

func TestWindowLastsAtTheRateOfUse(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.open(t)
		check := func(used int64, window, lasting time.Duration) {
			t.Helper()
			r.used.Store(used)
			got, lasts := r.Window()
			if got != window || (lasts-lasting).Abs() > time.Millisecond {
				t.Errorf("at %d the window is %v and lasts %v, want %v and %v", used, got, lasts, window, lasting)
			}
		}
		check(0, 100*time.Second, 100*time.Second)
		time.Sleep(10 * time.Second)
		check(50, 50*time.Second, 10*time.Second) // 5 units a second
		check(100, 0, 0)
		check(150, 0, 0)
		r.used.Store(50)
		r.Extend(150)
		synctest.Wait()
		check(50, 100*time.Second, 20*time.Second) // the pace before a renewal counts until a second has passed
		time.Sleep(20 * time.Second)
		check(60, 90*time.Second, 90*time.Second) // less than the clock: it will catch up
	})
	// A window of centuries lasts as long as a Duration can say; without a fence there is none.
	for limit, want := range map[int64]time.Duration{assigner.Unlimited - 1: math.MaxInt64, assigner.Unlimited: 0} {
		bubble(t, func(t *testing.T, r *rig) {
			r.assign = func(context.Context, int) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: r.first, First: 1, Last: limit}, nil
			}
			r.open(t)
			if window, lasts := r.Window(); window != want || lasts != want || r.Current().Half < 1<<61 {
				t.Errorf("the window is %v and lasts %v, want %v, and half of it is used at %d", window, lasts, want, r.Current().Half)
			}
		})
	}
}
