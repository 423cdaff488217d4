package keeper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// The errors of a refusal and of the release that follows come together.
func TestGrantThatIsRefusedIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 1, First: 1, Limit: assigner.Unlimited, Reusable: true}, nil
		}
		failure := errors.New("and the store is down")
		r.release = func(context.Context, int64) error { return failure }
		r.strict = true
		err := r.startIn(t.Context(), r.settings())
		if !errors.Is(err, assigner.ErrUnfencedReuse) || !errors.Is(err, failure) {
			t.Errorf("Start = %v, want ErrUnfencedReuse and the error of the release", err)
		}
	})
}

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
				// In a domain of its own the registry has no other worker IDs to begin above.
				now, own := cfg.Now, ownDomain().Epoch
				cfg.Now = func() time.Time { return now().Add(own.Sub(bitsalloc.DefaultEpoch())) }
				cfg.Epoch = own
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
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			suspended = 10 * time.Minute
			return assigner.Grant{WorkerID: r.first, First: 1, Limit: assigner.Unlimited, Reusable: true}, nil
		}
		r.openWith(t, cfg)
		if h := r.Current(); h.First != 601 || h.Delta != 600 {
			t.Errorf("Current = %+v, want First 601, Delta 600", h)
		}
	})
}
