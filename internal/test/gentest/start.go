package gentest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// noLease is an assigner that returns neither a lease nor an error.
type noLease struct{}

func (noLease) Assign(context.Context, assigner.Domain) (assigner.Lease, error) {
	return nil, nil
}

// assignerErrors has assigners that fail, or give answers that are not allowed.
func (s *suite) assignerErrors(t *testing.T) {
	down := errors.New("store out of reach")
	gives := func(g assigner.Grant, err error) assigner.Assigner {
		return &fakeassigner.Assigner{
			OnAssign:  func(context.Context, int, assigner.Domain) (assigner.Grant, error) { return g, err },
			OnRelease: func(context.Context, assigner.Grant, int64) error { return errDown },
		}
	}
	for name, row := range map[string]struct {
		assigner assigner.Assigner
		is       error // unless nil
		says     string
	}{
		"store down":                {gives(assigner.Grant{}, down), down, "store out of reach"},
		"worker ID above its field": {gives(assigner.Grant{WorkerID: 1 << 17, First: 1, Last: assigner.Unlimited}, nil), assigner.ErrWorkerOutOfRange, "131072 from"},
		"static":                    {assigner.Static(-1), assigner.ErrWorkerOutOfRange, "0 to 131071"},
		"zero grant":                {gives(assigner.Grant{WorkerID: 3}, nil), nil, "worker ID 3 with Last 0, allowed: 1 or more"},
		"beyond the end":            {gives(assigner.Grant{WorkerID: 1, First: 1 << 28, Last: assigner.Unlimited}, nil), uidring.ErrTimeExhausted, "used up"},
		"no lease":                  {noLease{}, assigner.ErrWorkerUnknown, "neither a lease nor an error"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
				c := s.config(keeper.Settings{Assigner: row.assigner})
				c.AllowReuse = true
				_, err := s.make(t, c)
				if err == nil || row.is != nil && !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) || !strings.HasPrefix(err.Error(), s.Package+": ") && row.is != uidring.ErrTimeExhausted {
					t.Errorf("New = %v, want %v that says %q", err, row.is, row.says)
				}
				store, ok := row.assigner.(*fakeassigner.Assigner)
				if given := !errors.Is(err, down); ok && given && (store.Releases.Load() != 1 || !errors.Is(err, errDown)) {
					t.Errorf("New = %v after %d releases, want one, and its error beside", err, store.Releases.Load())
				}
			})
		})
	}
}

// lastUnit has generators that begin in the last units of the layout. A generator that prepares
// IDs begins with the next unit, and an earlier process may have used the unit of a worker ID
// that comes back.
func (s *suite) lastUnit(t *testing.T) {
	layout := narrow()
	layout.DeltaBits = 10
	for _, row := range []struct {
		unit    time.Duration
		reused  bool
		refused bool
	}{{1022, false, false}, {1022, true, false}, {1023, false, s.Gapless}, {1023, true, true}} {
		c := s.config(keeper.Settings{Layout: layout})
		if row.reused {
			c.Assigner, c.AllowReuse = assigner.Static(7), true
		}
		c.Now = func() time.Time { return c.Epoch.Add(row.unit * time.Second) }
		g, err := s.make(t, c)
		if errors.Is(err, uidring.ErrTimeExhausted) != row.refused {
			t.Errorf("New in unit %d = %v, want %v: %t", row.unit, err, uidring.ErrTimeExhausted, row.refused)
		}
		if row.refused {
			continue
		}
		if testkit.Close(t, g, err); !row.reused { // else its first unit is the next one
			Wait(t, g)
		}
	}
}

// StartTimeout checks that New, whose Config has the Assigner, the Epoch and the StartTimeout,
// returns no end of a context when StartTimeout is over: its caller has no context.
func StartTimeout(t *testing.T, start func(assigner.Assigner, time.Time, time.Duration) error) {
	synctest.Test(t, func(t *testing.T) {
		hangs := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, _ int, _ assigner.Domain) (assigner.Grant, error) {
			<-ctx.Done()
			return assigner.Grant{}, ctx.Err()
		}}
		err := start(hangs, NewEpoch(), time.Second)
		if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "StartTimeout, 1s, is over") {
			t.Errorf("New = %v", err)
		}
	})
}
