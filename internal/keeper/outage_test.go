package keeper_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// TestRequestsOfALostLeaseDoNotDelayTheNext: the lost lease was asked for more than the new
// one has.
func TestRequestsOfALostLeaseDoNotDelayTheNext(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.assign = func(_ context.Context, nth int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first + int64(nth), First: 1, Limit: 100 + int64(nth)}, nil
		}
		r.renew = func(_ context.Context, g *assigner.Grant, _, want int64) error {
			if g.WorkerID == r.first {
				return assigner.ErrWorkerRowLost
			}
			g.Limit = want
			return nil
		}
		r.open(t)
		r.Extend(108)
		time.Sleep(time.Millisecond)
		if h := r.Current(); h == nil || h.Limit != 101 {
			t.Fatalf("Current = %+v, want the second lease", h)
		}
		r.Extend(108)
		time.Sleep(time.Millisecond)
		if h := r.Current(); h.Limit != 108 {
			t.Errorf("Limit = %d, want 108 at once", h.Limit)
		}
	})
}

// TestRequestsDoNotCutAPauseShort: a generator that asks for more with every unit must not hammer a
// store that is down.
func TestRequestsDoNotCutAPauseShort(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var calls stamps
		r.assign = func(context.Context, int) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: r.first, First: 1, Limit: 100}, nil
		}
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			calls.add()
			return errors.New("down")
		}
		r.open(t)
		for i := range int64(10_000) {
			r.Extend(101 + i)
			time.Sleep(time.Millisecond)
		}
		if n := len(calls.read()); n < 4 || n > 20 {
			t.Errorf("%d calls in 10 s, want a handful, further and further apart", n)
		}
	})
}

// The end of an outage is reported once: as kept, or, with another worker ID, as assigned.
func TestTheEndOfAnOutageIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		calls := 0
		r.renew = func(context.Context, *assigner.Grant, int64, int64) error {
			if calls++; calls == 2 || calls == 3 {
				return errors.New("down")
			}
			return nil
		}
		r.open(t)
		time.Sleep(5 * time.Minute)
		events := slices.DeleteFunc(r.Read(), func(line string) bool {
			return !strings.Contains(line, "failed") && !strings.Contains(line, "kept") || strings.Contains(line, "WARN")
		})
		if len(events) != 3 || !strings.HasSuffix(events[0], " failed") || !strings.HasSuffix(events[1], " failed") || !strings.HasSuffix(events[2], " kept 0") {
			t.Errorf("events %q, want two failures and one end of them", events)
		}
	})
}
