package keeper_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// lose is a Renew that finds the row of the first worker ID gone.
func lose(r *rig) {
	r.renew = func(_ context.Context, g *assigner.Grant, _, _ int64) error {
		if g.WorkerID == r.first {
			return fmt.Errorf("%w: row 1 has vanished", assigner.ErrWorkerRowLost)
		}
		return nil
	}
}

func TestLostRowIsReplacedAtOnce(t *testing.T) {
	for name, loss := range map[string]func(*rig){
		"it has vanished": lose,
		"a renewal has returned another worker ID": func(r *rig) {
			r.renew = func(_ context.Context, g *assigner.Grant, _, _ int64) error {
				if g.WorkerID == r.first {
					g.WorkerID += 500
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				loss(r)
				r.open(t)
				r.used.Store(99)
				time.Sleep(50 * time.Second)
				same(t, r.Read(), "0s INFO worker ID assigned", "0s assigned 0",
					"45s renew 0, 99 to 99", "45s ended", "45s ERROR worker ID lost", "45s lost 0",
					"45s INFO worker ID assigned", "45s assigned 1")
				if h := r.Current(); h == nil || h.Generation != 2 || h.WorkerID != r.first+1 || h.Delta != 45 {
					t.Errorf("Current = %+v, want the second lease", h)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				same(t, r.Read(), "50s ended", "50s release 1, 99", "50s INFO worker ID released")
			})
		})
	}
}

func TestPanicInAnyCallIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var sane atomic.Bool
		r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
			if n > 0 && !sane.Load() {
				panic("assign")
			}
			return r.fresh(n), nil
		}
		lose(r)
		r.open(t)
		time.Sleep(10 * time.Minute)
		if _, failures := r.counts(); failures < 10 || r.Current() != nil {
			t.Errorf("%d failures, Current %+v, want tries that fail", failures, r.Current())
		}
		sane.Store(true)
		time.Sleep(10 * time.Second)
		if r.Current() == nil {
			t.Error("the keeper has not gone on after the panics")
		}
	})
}

// The user's clock is read when a worker ID is taken, here in the keeper's goroutine.
func TestPanicInTheClockIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		lose(r)
		var broken atomic.Bool
		cfg := r.settings()
		now := cfg.Now
		cfg.Now = func() time.Time {
			if broken.Load() {
				panic("clock")
			}
			return now()
		}
		r.openWith(t, cfg)
		broken.Store(true)
		time.Sleep(time.Minute)
		if _, failures := r.counts(); failures == 0 {
			t.Error("no failure was counted")
		}
	})
}
