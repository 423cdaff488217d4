package keeper_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
)

func TestCurrentUnitCountsAsUsedByAnEarlierProcess(t *testing.T) {
	for name, row := range map[string]struct {
		grant assigner.Grant
		first int64
	}{
		"reusable": {assigner.Grant{First: 1, Limit: assigner.Unlimited, Reusable: true}, 61},
		"ahead":    {assigner.Grant{First: 500, Limit: assigner.Unlimited, Reusable: true}, 500},
		"fresh":    {assigner.Grant{First: 1, Limit: assigner.Unlimited}, 1},
		"fenced":   {assigner.Grant{First: 40, Limit: 100, Reusable: true}, 40},
		"a fence":  {assigner.Grant{First: 80, Limit: 101, Reusable: true}, 80},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				row.grant.WorkerID = r.first
				r.assign = func(context.Context, int) (assigner.Grant, error) { return row.grant, nil }
				cfg := r.settings()
				time.Sleep(time.Minute)
				r.openWith(t, cfg)
				if h := r.Current(); h.First != row.first || h.Delta != 60 {
					t.Errorf("Current = %+v, want First %d, Delta 60", h, row.first)
				} else if unused := max(h.First, 61); h.Fenced() && h.Half != unused-1+(h.Limit-unused+1)/2 {
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
			return assigner.Grant{WorkerID: r.first + int64(nth), First: 1, Limit: assigner.Unlimited, Reusable: true}, nil
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
