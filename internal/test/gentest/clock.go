package gentest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// wrongReading has a clock that is a year ahead in one reading, whichever that is. It costs a
// start or one call of Next, and is forgotten. The store refuses to give a worker ID to a host
// whose clock is more than a minute off, and grants 40 to 100 units ahead of its own clock.
func (s *suite) wrongReading(t *testing.T) {
	const readings = 40
	started := 0
	for wrong := range int64(readings) {
		synctest.Test(t, func(t *testing.T) {
			var reads, misled, failures int64 // misled counts requests beyond all that the store grants
			epoch := NewEpoch()
			now := func() int64 { return int64(time.Since(epoch) / time.Second) }
			store := &fakeassigner.Assigner{OnAssign: func(_ context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				if off := d.Now() - now(); off < -60 || off > 60 {
					return assigner.Grant{}, fmt.Errorf("%w: by %d units", leasestore.ErrClockSkew, off)
				}
				return assigner.Grant{WorkerID: int64(nth), First: now(), Last: now() + 38, Guarantee: assigner.GuaranteeFenced, Reusable: true}, nil
			}, OnRenew: func(_ context.Context, g *assigner.Grant, used, want int64) error {
				if max(used, want) > now()+101 {
					misled++
				}
				g.Last = max(g.Last, now()+60, min(want, now()+100))
				return nil
			}}
			g, err := s.make(t, s.config(keeper.Settings{Assigner: store, Epoch: epoch, Now: func() time.Time {
				if atomic.AddInt64(&reads, 1) == wrong+1 {
					return time.Now().AddDate(1, 0, 0)
				}
				return time.Now()
			}}))
			if errors.Is(err, leasestore.ErrClockSkew) {
				return
			}
			testkit.Close(t, g, err)
			started++
			for i := range 500 {
				if i%100 == 99 {
					stats(g)
					g.Invalidate()
					synctest.Wait()
				}
				id, err := g.Next()
				if err != nil {
					failures++
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					id, err = g.NextContext(ctx)
					cancel()
				}
				if f := Parse(t, g, id, err); time.Until(f.Time).Abs() > s.Off {
					t.Fatalf("%v at %v, want an ID of the present", f, time.Now())
				}
				time.Sleep(3 * time.Second)
			}
			if !s.Gapless && failures > 1 || misled > s.Misled {
				t.Errorf("reading %d: %d calls of Next failed, %d requests were too far ahead", wrong, failures, misled)
			}
		})
	}
	if started < readings-1 {
		t.Errorf("%d of %d generators have started, want all but one", started, readings)
	}
}
