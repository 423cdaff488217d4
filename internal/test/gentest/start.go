package gentest

import (
	"context"
	"errors"
	"slices"
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

// oneGenerator has a second generator with the worker ID of a live one, which is refused, and a
// successor, which goes on above it.
func (s *suite) oneGenerator(t *testing.T) {
	c := s.config(keeper.Settings{Assigner: assigner.Static(5)})
	c.AllowReuse = true
	first := s.openWith(t, c)
	if _, err := s.make(t, c); !errors.Is(err, assigner.ErrWorkerInUse) {
		t.Errorf("a second generator: %v, want ErrWorkerInUse", err)
	}
	last := take(t, first, 100)
	testkit.Must(t, first.Close())
	if f := next(t, s.openWith(t, c)); f.ID <= last.ID {
		t.Errorf("%v after %v of its predecessor", f, last)
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
			next(t, g)
		}
	}
}

// lastYearInService has the last year begin while a generator runs, which it logs once.
func (s *suite) lastYearInService(t *testing.T) {
	var log testkit.Recorder
	layout := narrow()
	layout.DeltaBits = 25 // 388 days, of which all but a year and five minutes have gone by
	expires := Start.AddDate(1, 0, 0).Add(5*time.Minute + time.Duration(epochs.Add(1))*time.Millisecond)
	g := s.open(t, keeper.Settings{Layout: layout, Logger: log.Logger(), Epoch: expires.Add(-1 << 25 * time.Second)})
	warnings := 0
	for _, off := range []time.Duration{-120, -2, 60, 120} { // seconds; a renewal notices it
		time.Sleep(time.Until(expires.AddDate(-1, 0, 0).Add(off * time.Second)))
		next(t, g)
		synctest.Wait()
		warnings += strings.Count(strings.Join(log.Read(), "\n"), "WARN the delta field is used up within a year")
		if want := min(max(int(off+1), 0), 1); warnings != want || !s.Stats(g).Expires.Equal(expires) {
			t.Errorf("%d s from the last year: %d warnings, want %d; it expires at %v", off, warnings, want, s.Stats(g).Expires)
		}
	}
	s.open(t, keeper.Settings{Layout: layout, Logger: log.Logger(), Epoch: expires.Add(-1<<25*time.Second - time.Hour)})
	if lines := log.Read(); !slices.Contains(lines, "WARN the delta field is used up within a year") {
		t.Errorf("a start in the last year logs %q", lines)
	}
}
