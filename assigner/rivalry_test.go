package assigner

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/together"
)

// Two live processes of one owner: each takes the row from the other, until one of them has lost it
// twice and yields.
func TestFencedYieldsAfterTheSecondLoss(t *testing.T) {
	s := newMemStore()
	first, second := clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{})), clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{}))
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
		_, err := first.Assign(t.Context(), memDomain())
		wantError(t, err, ErrWorkerInUse, "row 2", "host-2 pid 4712", `owner "orders-2"`)
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

func TestFencedCountsLossesWithinFourWindows(t *testing.T) {
	for gap, yields := range map[int64]bool{120: true, 121: false} {
		s := newMemStore()
		now, d := int64(memStart), memDomain()
		d.Now = func() int64 { return now }
		open := func() Assigner {
			return clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{MaxLead: 24 * time.Hour}))
		}
		first, second := open(), open()
		mine := takeIn(t, first, d)
		for _, after := range []int64{0, gap} {
			now += after
			s.status.Now = memTime(now)
			takeIn(t, second, d)
			wantError(t, mine.Renew(t.Context(), now, now), ErrWorkerRowLost)
			if after == 0 {
				mine = takeIn(t, first, d)
			}
		}
		if _, err := first.Assign(t.Context(), d); errors.Is(err, ErrWorkerInUse) != yields {
			t.Errorf("after two losses %d s apart Assign = %v; want it to yield: %v", gap, err, yields)
		}
	}
}

func TestFencedRejectsASecondGeneratorOfOneProcess(t *testing.T) {
	s := newMemStore()
	d := memDomain()
	d.Registered = true
	assign := func() (Lease, error) {
		return clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{})).Assign(t.Context(), d)
	}
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) { // both start at once
		s.onSwap = nil
		_, err := assign()
		wantError(t, err, ErrWorkerInUse, "row 2")
		return false, errStore
	}
	if _, err := assign(); !errors.Is(err, errStore) {
		t.Errorf("Assign = %v, want errStore", err)
	}
	first, err := assign()
	if err != nil {
		t.Fatal(err)
	}
	row := s.rows[2]
	_, err = assign()
	wantError(t, err, ErrWorkerInUse, "row 2", `owner "orders-2"`, "close it first")
	if s.rows[2] != row {
		t.Errorf("row %+v, was %+v", s.rows[2], row)
	}
	first.(interface{ Abandon() }).Abandon()
	second, err := assign()
	if err != nil {
		t.Fatalf("Assign after Abandon: %v", err)
	}
	first.(interface{ Abandon() }).Abandon() // of a lease that is no longer the one
	if _, err := assign(); !errors.Is(err, ErrWorkerInUse) {
		t.Errorf("Assign = %v, want ErrWorkerInUse", err)
	}
	if err := second.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	third, err := assign()
	if err != nil {
		t.Fatalf("Assign after Release: %v", err)
	}
	take(t, clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{}))) // its caller is not registered
	third.(interface{ Abandon() }).Abandon()
	take(t, clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{})))
	if third, err = assign(); err != nil {
		t.Errorf("Assign after a lease that is not registered: %v", err)
	}
	third.(interface{ Abandon() }).Abandon()
	// Another namespace has other rows.
	other := newMemStore()
	if _, err := clocked(Fenced(other, Static(2), "orders-2", LeaseConfig{})).Assign(t.Context(), d); err != nil {
		t.Errorf("Assign in another namespace: %v", err)
	}
}

// Goroutines that share an assigner take grants that have no delta in common.
func TestAssignBySeveralGenerators(t *testing.T) {
	fenced := func(s leasestore.Store) Assigner {
		return Fenced(s, Static(2), "orders-2", LeaseConfig{MaxLead: 24 * time.Hour})
	}
	for name, row := range map[string]struct {
		open              func(leasestore.Store) Assigner
		lossy, registered bool
	}{
		"Leased":             {open: func(s leasestore.Store) Assigner { return Leased(s, LeaseConfig{}) }, lossy: true},
		"Fenced":             {open: fenced},
		"Fenced, registered": {open: fenced, registered: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.status.Lossy = row.lossy
			a := clocked(row.open(s))
			a.(*leaser).pause = func(context.Context, int) {}
			d := memDomain()
			d.Registered = row.registered
			var mu sync.Mutex
			firsts := make(map[int64]bool)
			together.Run(4, func(int) {
				for range 50 {
					l, err := a.Assign(t.Context(), d)
					if err != nil {
						if !errors.Is(err, ErrWorkerInUse) && !errors.Is(err, ErrQuarantined) && !errors.Is(err, ErrWorkersExhausted) {
							t.Error(err)
						}
						continue
					}
					mu.Lock()
					if first := l.Grant().First; firsts[first] {
						t.Errorf("two grants begin at %d", first)
					} else {
						firsts[first] = true
					}
					mu.Unlock()
					if err := l.Renew(t.Context(), 0, 0); err != nil && !errors.Is(err, ErrWorkerRowLost) {
						t.Error(err)
					}
					if err := l.Release(t.Context(), 0); err != nil {
						t.Error(err)
					}
				}
			})
			if len(firsts) == 0 && !row.lossy {
				t.Error("no lease was taken")
			}
		})
	}
}
