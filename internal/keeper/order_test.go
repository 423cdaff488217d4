package keeper_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
)

// A generator composes IDs under Current until Ended has returned: Current must be nil before.
func TestLeaseIsWithdrawnBeforeItsEnd(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"Invalidate": func(r *rig) { r.Invalidate() },
		"loss":       func(*rig) { time.Sleep(time.Minute) },
		"Close":      func(r *rig) { _ = r.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				lose(r)
				var ends atomic.Int64
				r.ended = func() {
					ends.Add(1)
					if h := r.Current(); h != nil {
						t.Errorf("worker ID %d is current in Ended", h.WorkerID-r.first)
					}
				}
				r.open(t)
				end(r)
				if n := ends.Load(); n != 1 {
					t.Errorf("%d calls of Ended, want 1", n)
				}
			})
		})
	}
}

// A padding pass that Ended waits for may use another delta. A store that has learnt of the delta
// before alone would grant it again.
func TestReleaseHasTheDeltasUsedUntilTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(context.Context, int) (assigner.Grant, error) { return r.fresh(0), nil }
		r.open(t)
		r.Read()
		r.ended = func() { r.used.Add(7) }
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		same(t, r.Read(), "0s ended", "0s release 0, 7", "0s INFO worker ID released")
		if r.open(t); r.Current().First != 8 { // in the same process
			t.Errorf("Current = %+v, want it above the deltas used", r.Current())
		}
	})
}

// The generator goes on between the readings of a renewal: read the other way around, more would be
// used than is wanted.
func TestRenewalWantsWhatIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		k, mistakes := keeper.New(r.settings())
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		r.renew = func(_ context.Context, _ *assigner.Grant, used, want int64) error {
			if used >= want {
				return fmt.Errorf("used %d, but wants %d", used, want)
			}
			return nil
		}
		hooks := r.hooks()
		hooks.Used = func() int64 { return r.used.Add(1) }
		hooks.Position = func(*keeper.Grant) int64 { return r.used.Add(1) }
		if err := k.Start(t.Context(), hooks); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if s := k.Stats(0, time.Now()); s.Renewals < 10 || s.RenewFailures > 0 {
			t.Errorf("%d renewals, %d failures", s.Renewals, s.RenewFailures)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
}
