package keeper_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/together"
)

func fence(r *rig) {
	r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
		return assigner.Grant{WorkerID: r.first + int64(n), First: 1, Limit: 100, Guarantee: assigner.GuaranteeFenced}, nil
	}
	r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
		g.Limit = max(g.Limit, want)
		return nil
	}
}

func TestExtendRenewsAtOnceAndWakes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.open(t)
		r.Read()
		changed := r.Changed()
		r.used.Store(90)
		r.Extend(120)
		<-changed
		if h := r.Current(); h.Limit != 120 || h.First != 1 || h.Generation != 1 || h != r.Latest() {
			t.Errorf("Current = %+v, Latest = %+v, want the limit 120 and the rest as it was", h, r.Latest())
		}
		same(t, r.Read(), "0s renew 0, 90 to 120")
	})
}

func TestExtendAsksOnceForTheSame(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.renew = nil // agrees, and does not move the fence
		r.open(t)
		r.Read()
		changed := r.Changed()
		for range 1000 {
			r.Extend(120)
			synctest.Wait()
			r.Extend(110)
			synctest.Wait()
		}
		same(t, r.Read(), "0s renew 0, 0 to 120", "0s renew 0, 0 to 110") // the smaller one might have been granted
		<-changed                                                         // a generator that waits checks whether it still needs the refused delta
		select {
		case <-r.Changed():
			t.Error("Changed reports a change that was none")
		default:
		}
		time.Sleep(50 * time.Second)
		same(t, r.Read(), "45s renew 0, 0 to 120") // the request stands
	})
}

// A refused request may come from a clock that was a year ahead for a moment: it is not
// repeated unless the generator does. Lower requests are sent at once, on a store that is not
// lossy.
func TestRefusedRequestIsNotRepeated(t *testing.T) {
	const year = 365 * 24 * 3600
	for name, row := range map[string]struct {
		guarantee assigner.Guarantee
		want      []string
	}{
		"fenced": {assigner.GuaranteeFenced, []string{"0s renew 0, 0 to 31536000", "0s renew 0, 0 to 150", "45s renew 0, 0 to 31536000", "1m30s renew 0, 0 to 150"}},
		"lossy":  {assigner.GuaranteeLossy, []string{"0s renew 0, 0 to 31536000", "45s renew 0, 0 to 31536000", "1m30s renew 0, 0 to 120"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.assign = func(context.Context, int) (assigner.Grant, error) {
					return assigner.Grant{WorkerID: r.first, First: 1, Limit: 100, Guarantee: row.guarantee}, nil
				}
				r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
					if want == year {
						want = 120
					}
					g.Limit = max(g.Limit, want)
					return nil
				}
				r.open(t)
				r.Read()
				for range 10 { // the last nine, after the first is refused, are one for later
					r.Extend(year)
					synctest.Wait()
				}
				r.Extend(150)
				synctest.Wait()
				time.Sleep(100 * time.Second)
				same(t, r.Read(), row.want...)
			})
		})
	}
}

// A request that the lost lease has refused is not sent for the next lease.
func TestRefusedRequestEndsWithItsLease(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		refuse := true
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			if !refuse && g.WorkerID == r.first {
				return assigner.ErrWorkerRowLost
			}
			refuse = false
			return nil
		}
		r.open(t)
		r.Extend(1 << 25)
		synctest.Wait()
		r.Extend(1 << 25)
		r.Extend(110)
		time.Sleep(44 * time.Second)
		r.Read()
		time.Sleep(10 * time.Second)
		same(t, r.Read(), "45s renew 1, 0 to 0")
	})
}

// A generator that has gone on from an earlier lease may be beyond the present one, but never
// beyond all.
func TestUsedIsWithinTheGrantsSoFar(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first + int64(n), First: 1, Limit: 500 - 400*int64(n), Guarantee: assigner.GuaranteeFenced}, nil
		}
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			if g.WorkerID == r.first {
				return assigner.ErrWorkerRowLost
			}
			g.Limit = min(want, 470)
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
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		same(t, r.Read(), "45s ended", "45s release 1, 500", "45s INFO worker ID released")
	})
}

// A position that is wrong for a moment, beyond the grant of the store, does not distort the pace.
func TestPositionBeyondTheGrantIsNoPace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.renew = func(_ context.Context, g *assigner.Grant, used, _ int64) error {
			g.Limit = max(g.Limit, used+100)
			return nil
		}
		r.open(t)
		time.Sleep(10 * time.Second)
		r.used.Store(10)
		r.ahead.Store(1 << 27)
		r.Extend(101)
		synctest.Wait()
		r.ahead.Store(0)
		if h := r.Current(); h.Limit != 110 || h.Half != 60 {
			t.Errorf("Limit %d, Half %d, want 110, 60", h.Limit, h.Half)
		}
		time.Sleep(10 * time.Second)
		if _, lasts := r.Window(20); lasts != 90*time.Second {
			t.Errorf("the window lasts %v, want 1m30s", lasts)
		}
	})
}

// A request during a renewal is heard, and not sent when the renewal has granted it.
func TestExtendIsHeardWhileARenewalIsUnderWay(t *testing.T) {
	for least, want := range map[int64][]string{
		0:   {"0s renew 0, 0 to 120", "1s renew 0, 0 to 130"},
		130: {"0s renew 0, 0 to 120"},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			fence(r)
			r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
				g.Limit = max(least, want)
				return nil
			}
			renewSlowly(r)
			r.open(t)
			r.Read()
			r.Extend(120)
			time.Sleep(500 * time.Millisecond)
			r.Extend(130)
			time.Sleep(5 * time.Second)
			same(t, r.Read(), want...)
			if got := r.Current().Limit; got != 130 {
				t.Errorf("Limit = %d, want 130", got)
			}
		})
	}
}

func TestWindowLastsAtTheRateOfUse(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.open(t)
		for _, row := range []struct {
			after           time.Duration
			used            int64
			window, lasting time.Duration
		}{
			{0, 0, 100 * time.Second, 100 * time.Second},
			{10 * time.Second, 50, 50 * time.Second, 10 * time.Second}, // 5 units a second
			{10 * time.Second, 50, 50 * time.Second, 20 * time.Second}, // 2.5 since the grant
			{20 * time.Second, 50, 50 * time.Second, 40 * time.Second},
			{0, 100, 0, 0},
			{0, 150, 0, 0},
		} {
			time.Sleep(row.after)
			window, lasting := r.Window(row.used)
			if window != row.window || (lasting-row.lasting).Abs() > time.Millisecond {
				t.Errorf("at %d and %v the window is %v and lasts %v, want %v and %v", row.used, time.Since(r.start), window, lasting, row.window, row.lasting)
			}
		}
	})
}

// A window of centuries lasts as long as a Duration can say; without a fence there is none.
func TestWindowWithoutANearFence(t *testing.T) {
	for limit, want := range map[int64]time.Duration{assigner.Unlimited - 1: math.MaxInt64, assigner.Unlimited: 0} {
		bubble(t, func(t *testing.T, r *rig) {
			r.assign = func(context.Context, int) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: r.first, First: 1, Limit: limit}, nil
			}
			r.open(t)
			if window, lasts := r.Window(0); window != want || lasts != want || (r.Current().Half == math.MaxInt64) != (want == 0) {
				t.Errorf("the window is %v and lasts %v, want %v, and half of it is used at %d", window, lasts, want, r.Current().Half)
			}
		})
	}
}

// The pace before a renewal counts until a second has passed.
func TestWindowOfARenewalLastsAtThePaceBefore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		r.open(t)
		time.Sleep(10 * time.Second)
		r.used.Store(50)
		r.Extend(150)
		synctest.Wait()
		if window, lasts := r.Window(50); window != 100*time.Second || lasts != 20*time.Second {
			t.Errorf("the window is %v and lasts %v, want 1m40s and 20s", window, lasts)
		}
	})
}

// A request during the renewal that repeats a refused one waits for the renewal after it.
func TestRequestDuringARefusalStands(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fence(r)
		var limit atomic.Int64
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			g.Limit = max(g.Limit, min(want, limit.Load()))
			return nil
		}
		renewSlowly(r)
		r.open(t)
		r.Read()
		r.Extend(120)
		time.Sleep(2 * time.Second)
		r.Extend(130)
		time.Sleep(43500 * time.Millisecond)
		r.Extend(140)
		time.Sleep(time.Minute)
		same(t, r.Read(), "0s renew 0, 0 to 120", "45s renew 0, 0 to 130", "1m30s renew 0, 0 to 140")
		limit.Store(1000) // the store grants all requests from now on
		r.Extend(140)
		time.Sleep(time.Minute)
		r.Read()
		start := time.Since(r.start)
		r.Extend(200)
		synctest.Wait()
		same(t, r.Read(), fmt.Sprintf("%v renew 0, 0 to 200", start))
	})
}

// TestExtendBesideNewLeases runs in real time, for the race detector.
func TestExtendBesideNewLeases(t *testing.T) {
	r := newRig()
	r.open(t)
	together.Run(2, func(i int) {
		for n := range int64(100) {
			if i == 0 {
				r.Extend(n)
				_ = r.Stats(n, time.Now())
				continue
			}
			r.Invalidate()
			for range n {
				runtime.Gosched()
			}
		}
	})
}
