package assigner

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Two live processes of one owner: each takes the row from the other, until one of them has lost it
// twice and yields.
func TestFencedYieldsAfterTheSecondLoss(t *testing.T) {
	s := newMemStore()
	first, second := fenced(s, 2, "orders-2"), fenced(s, 2, "orders-2")
	second.(*leaser).holder = "host-2 pid 4712"
	mine := take(t, first)
	theirs := take(t, second)
	wantError(t, mine.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost, "host-2 pid 4712")
	mine = take(t, first) // it cannot know yet whether the other one is a restart of itself
	wantError(t, theirs.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost)
	theirs = take(t, second)
	wantError(t, mine.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost)
	row := s.rows[2]
	for range 3 {
		refused(t, first, ErrWorkerInUse, "row 2", "host-2 pid 4712", `owner "orders-2"`)
	}
	if s.rows[2] != row {
		t.Errorf("row %+v, was %+v", s.rows[2], row)
	}
	if err := theirs.Renew(t.Context(), 1010, 1018); err != nil {
		t.Errorf("Renew of the winner: %v", err)
	}
	if err := theirs.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	mine = take(t, first) // the rival has gone
	take(t, second)
	wantError(t, mine.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost)
	take(t, first) // a first loss again
}

func TestFencedRejectsASecondGeneratorOfOneProcess(t *testing.T) {
	s := newMemStore()
	d := memDomain()
	d.Registered = true
	assign := func() (*lease, error) {
		l, err := fenced(s, 2, "orders-2").Assign(t.Context(), d)
		mine, _ := l.(*lease)
		return mine, err
	}
	get := func() *lease {
		t.Helper()
		l, err := assign()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) { // both start at once
		s.onSwap = nil
		_, err := assign()
		wantError(t, err, ErrWorkerInUse, "row 2")
		return false, errStore
	}
	_, err := assign()
	wantError(t, err, errStore)
	first := get()
	row := s.rows[2]
	_, err = assign()
	wantError(t, err, ErrWorkerInUse, "row 2", `owner "orders-2"`, "close it first")
	if s.rows[2] != row {
		t.Errorf("row %+v, was %+v", s.rows[2], row)
	}
	first.Abandon()
	second := get()
	first.Abandon() // of a lease that is no longer the one
	_, err = assign()
	wantError(t, err, ErrWorkerInUse)
	if err := second.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	third := get()
	take(t, fenced(s, 2, "orders-2")) // its caller is not registered
	third.Abandon()
	take(t, fenced(s, 2, "orders-2"))
	defer get().Abandon()
	takeIn(t, fenced(newMemStore(), 2, "orders-2"), d).(*lease).Abandon() // another namespace has other rows
}

// Goroutines that share an assigner take grants that have no delta in common.
func TestAssignBySeveralGenerators(t *testing.T) {
	for name, open := range map[string]func(leasestore.Store) Assigner{
		"Leased": leased,
		"Fenced": func(s leasestore.Store) Assigner {
			return clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{Window: shortWindow.Window, MaxLead: 24 * time.Hour}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.status.Lossy = name == "Leased"
			a := hasty(open(s))
			d := memDomain()
			d.Registered = name == "Fenced"
			var firsts sync.Map
			testkit.Together(4, func(int) {
				for range 50 {
					l, err := a.Assign(t.Context(), d)
					if err != nil {
						if !errors.Is(err, ErrWorkerInUse) && !errors.Is(err, ErrQuarantined) && !errors.Is(err, ErrWorkersExhausted) {
							t.Error(err)
						}
						continue
					}
					if _, twice := firsts.LoadOrStore(l.Grant().First, true); twice {
						t.Errorf("two grants begin at %d", l.Grant().First)
					}
					if err := l.Renew(t.Context(), 0, 0); err != nil && !errors.Is(err, ErrWorkerRowLost) {
						t.Error(err)
					}
					if err := l.Release(t.Context(), 0); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
