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

// The user's clock is read when a worker ID is taken, here in the keeper's goroutine.
func TestPanicInAnyCallIsAnError(t *testing.T) {
	for _, name := range []string{"assign", "clock"} {
		bubble(t, func(t *testing.T, r *rig) {
			var broken atomic.Bool
			call := func(this string) {
				if this == name && broken.Load() {
					panic(name)
				}
			}
			r.assign = func(_ context.Context, n int) (assigner.Grant, error) {
				call("assign")
				return r.fresh(n), nil
			}
			s := r.settings()
			now := s.Now
			s.Now = func() time.Time {
				call("clock")
				return now()
			}
			lose(r)
			r.openWith(t, s)
			broken.Store(true)
			time.Sleep(10 * time.Minute)
			if _, failures := r.counts(); failures < 10 || r.Current() != nil {
				t.Errorf("%s: %d failures, Current %+v, want tries that fail", name, failures, r.Current())
			}
			broken.Store(false)
			time.Sleep(10 * time.Second)
			if r.Current() == nil {
				t.Errorf("%s: the keeper has not gone on after the panics", name)
			}
		})
	}
}
