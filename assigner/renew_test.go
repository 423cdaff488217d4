package assigner

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A tenant is a lease on row 0 with a clock that the test moves. Its claim at delta 1000 has set
// version 2 and fence 1030.
type tenant struct {
	*testing.T
	s   *memStore
	now int64
	l   Lease
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	h := &tenant{T: t, s: newMemStore(), now: memStart}
	h.s.put(leasestore.Row{WorkerID: 0})
	d := memDomain()
	d.Now = func() int64 { return h.now }
	h.l = takeIn(t, clocked(Leased(h.s, LeaseConfig{Owner: "tenant"})), d)
	return h
}

// at moves both clocks.
func (h *tenant) at(delta int64) *tenant {
	h.now, h.s.status.Now = delta, memTime(delta)
	return h
}

func (h *tenant) renew(used, want int64) error { return h.l.Renew(h.Context(), used, want) }

// limit renews and checks the new limit.
func (h *tenant) limit(used, want, limit int64) {
	h.Helper()
	if err := h.renew(used, want); err != nil {
		h.Fatal(err)
	}
	wantGrant(h.T, h.l, 0, 1, limit)
	if got := h.s.rows[0].Fence; got != limit {
		h.Errorf("fence %d in the store, want %d", got, limit)
	}
}

func TestRenewRaisesTheLimitAndKeepsTheRow(t *testing.T) {
	h := newTenant(t)
	h.at(1020).limit(1020, 1028, 1080)
	if got := h.s.rows[0]; got.Version != 2 || !got.Expires.Equal(memTime(1080)) {
		t.Errorf("row = %+v, want version 2, and two windows from now", got)
	}
	h.at(1015).limit(1000, 1000, 1081) // raised by a unit, never lowered, and the row kept
	if got := h.s.rows[0]; !got.Expires.Equal(memTime(1075)) {
		t.Errorf("row expires at %v, want two windows from now", got.Expires)
	}
}

func TestRenewLimits(t *testing.T) {
	newTenant(t).at(1001).limit(1010, 1010, 1130) // two deltas in a unit: the window doubles
	newTenant(t).limit(90_000, 90_001, 90_120)    // used with another worker ID before
	h := newTenant(t)
	h.at(1100).limit(1100, 1000, 1160)
	h.at(1200).limit(1100, 1000, 1260) // an idle generator goes on from the clock
	h = newTenant(t)
	h.s.lose(1)
	h.at(1020).limit(1020, 1028, 1080)
	if err := h.l.Release(t.Context(), 1025); err != nil {
		t.Fatal(err)
	}
	if got := h.s.rows[0]; got.Fence != 1080 || got.Token != "" || got.Version != 2 || got.Expires.After(memTime(1020)) {
		t.Errorf("row = %+v, want it free at once, with the fence 1080", got)
	}
}

func TestRenewDoublesTheWindowUnderDemand(t *testing.T) {
	h := newTenant(t)
	used := int64(memStart)
	for i, span := range []int64{60, 120, 240, 480, 960, 1920, 3660, 3660} { // 122 deltas a second
		used += 1220
		h.at(int64(memStart+10*(i+1))).limit(used, used, used+2*span)
	}
	now := int64(memStart + 80)
	for _, span := range []int64{1830, 915, 457, 228, 114, 57, 30, 30} { // one a second
		used, now = used+5000, now+5000
		h.at(now).limit(used, used, used+2*span)
	}
}

// The fence below a lease may lie ahead of the clock: the deltas in between are unused.
func TestRenewAfterAStartAheadOfTheClock(t *testing.T) {
	s := newMemStore()
	s.put(leasestore.Row{WorkerID: 0, Fence: 50_000})
	l := take(t, clocked(Leased(s, LeaseConfig{})))
	wantGrant(t, l, 0, 50_001, 50_030)
	if err := l.Renew(t.Context(), 50_001, 50_009); err != nil {
		t.Fatal(err)
	}
	wantGrant(t, l, 0, 50_001, 50_061)
}

func TestRenewThatArrivesLate(t *testing.T) {
	t.Run("before the next is adopted", func(t *testing.T) {
		h := newTenant(t).at(1020)
		arrive := h.s.delay()
		wantError(t, h.renew(1020, 1028), errLostAnswer)
		wantGrant(t, h.l, 0, 1, 1030)
		arrive()
		h.limit(1030, 1030, 1080)
	})
	t.Run("and is too low is raised", func(t *testing.T) {
		h := newTenant(t).at(1020)
		arrive := h.s.delay()
		wantError(t, h.renew(1020, 1028), errLostAnswer)
		arrive()
		h.at(1100).limit(1100, 1100, 1160)
	})
	t.Run("in the middle of a release does not keep the row", func(t *testing.T) {
		h := newTenant(t).at(1020)
		arrive := h.s.delay()
		wantError(t, h.renew(1020, 1028), errLostAnswer)
		arrive()
		if err := h.l.Release(t.Context(), 1020); err != nil {
			t.Fatal(err)
		}
		if got := h.s.rows[0]; got.Fence != 1080 || got.Token != "" {
			t.Errorf("row = %+v, want it free, with the fence 1080", got)
		}
	})
}

func TestRenewEndsTheLeaseWhen(t *testing.T) {
	for name, row := range map[string]struct {
		happens  func(*memStore)
		sentinel error
		words    []string
	}{
		"another has taken the row over": {
			func(s *memStore) {
				s.put(leasestore.Row{WorkerID: 0, Version: 3, Fence: 1100, Token: "U", Owner: "other"})
			},
			ErrWorkerRowLost, []string{"row 0", `taken over by "other"`},
		},
		"the row was taken over and left again": {
			func(s *memStore) { s.put(leasestore.Row{WorkerID: 0, Version: 3, Fence: 1100}) },
			ErrWorkerRowLost, nil,
		},
		"the row was deleted": {
			func(s *memStore) { delete(s.rows, 0) },
			leasestore.ErrRowMissing, []string{"row 0", "never delete rows"},
		},
		"all was deleted": {
			func(s *memStore) { delete(s.rows, 0); s.meta = leasestore.Meta{} },
			leasestore.ErrNamespaceRecreated, []string{"row 0", "never delete rows"},
		},
		"all was made anew": {
			func(s *memStore) { delete(s.rows, 0); s.meta.Namespace = "other" },
			leasestore.ErrNamespaceRecreated, []string{`namespace "other"`},
		},
		"the fence has gone back": {
			func(s *memStore) { r := s.rows[0]; r.Fence = 1029; s.put(r) },
			leasestore.ErrFenceRegressed, []string{"fence 1029", "1030", "run Recover"},
		},
		"the version has gone back": {
			func(s *memStore) { r := s.rows[0]; r.Version = 1; r.Fence = 2000; s.put(r) },
			leasestore.ErrFenceRegressed, []string{"version 1 and fence 2000, here 2 and 1030"},
		},
		"the row was reset and has grown back": {
			func(s *memStore) { r := s.rows[0]; r.Token = "U"; s.put(r) },
			leasestore.ErrFenceRegressed, []string{"version 2 belongs to", "went back"},
		},
		"a copy of the process has released the row": {
			func(s *memStore) { r := s.rows[0]; r.Token = ""; s.put(r) },
			ErrWorkerRowLost, []string{"taken over"},
		},
		"the fence was raised": {
			func(s *memStore) { r := s.rows[0]; r.Fence += 1000; s.put(r) },
			ErrWorkerRowLost, []string{"fence 2030, here 1030", "recovery"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTenant(t)
			token := h.s.rows[0].Token
			row.happens(h.s)
			before := h.s.rows[0]
			err := h.renew(1020, 1028)
			wantError(t, err, row.sentinel, row.words...)
			wantError(t, err, ErrWorkerRowLost)
			wantGrant(t, h.l, 0, 1, 1030)
			if before.Token != token {
				if err := h.l.Release(t.Context(), 1010); err != nil {
					t.Errorf("Release of a row that is no longer held: %v", err)
				}
			}
			if h.s.rows[0] != before {
				t.Errorf("row = %+v, want it as it was, %+v", h.s.rows[0], before)
			}
			for _, sentinel := range []error{leasestore.ErrRowMissing, leasestore.ErrNamespaceRecreated, leasestore.ErrFenceRegressed} {
				if errors.Is(err, sentinel) != (sentinel == row.sentinel) {
					t.Errorf("errors.Is(%v, %v) = %t", err, sentinel, errors.Is(err, sentinel))
				}
			}
		})
	}
}

// After another swap has been proved, an unanswered swap cannot take effect any more, and its fence
// is unknown to the lease.
func TestRenewRejectsAFenceOfAnEarlierTry(t *testing.T) {
	h := newTenant(t).at(1020)
	h.s.delay()
	wantError(t, h.renew(1020, 1028), errLostAnswer) // would have left 1080
	h.at(1010).limit(1010, 1010, 1070)
	r := h.s.rows[0]
	r.Fence = 1080
	h.s.put(r)
	wantError(t, h.renew(1020, 1028), ErrWorkerRowLost, "fence 1080, here 1070")
}

// A copy of a process renews with the token of the original: the second of the two to renew loses
// its lease.
func TestRenewByACopyOfTheProcess(t *testing.T) {
	h := newTenant(t)
	copied := *h.l.(*lease)
	h.at(1020).limit(1020, 1028, 1080)
	wantError(t, copied.Renew(t.Context(), 1021, 1029), ErrWorkerRowLost, "copy")
	h.at(1040).limit(1040, 1048, 1100)
}

func TestReleaseWithoutAnAnswer(t *testing.T) {
	h := newTenant(t)
	h.s.lose(1)
	if err := h.l.Release(t.Context(), 1010); err != nil {
		t.Errorf("Release = %v, want nil: the row is seen to be free", err)
	}
	h = newTenant(t)
	h.s.delay()
	wantError(t, h.l.Release(t.Context(), 1010), errLostAnswer, "release row 0")
}

// TestRenewEndsWithTheLayout checks that the fence does not overflow when a generator uses all
// deltas it gets.
func TestRenewEndsWithTheLayout(t *testing.T) {
	h := newTenant(t)
	last := int64(1)<<memDomain().Layout.DeltaBits - 1
	for range 100 {
		limit := h.l.Grant().Limit
		if err := h.renew(limit, limit+1); err != nil {
			t.Fatal(err)
		}
		if got := h.l.Grant().Limit; got < limit || got > last {
			t.Fatalf("limit %d after %d, want no less, and at most %d", got, limit, last)
		}
	}
	if got := h.l.Grant().Limit; got != last {
		t.Errorf("limit %d in the end, want the last delta, %d", got, last)
	}
}

// A renewal took effect and its answer was lost. The next one finds it and succeeds: the row
// expires when the first one has set.
func TestRenewCountsFromTheRenewalThatItFound(t *testing.T) {
	h := newTenant(t)
	h.s.lose(1)
	h.s.onLoad = func() error { return errStore }
	wantError(t, h.at(1030).renew(1030, 1030), errStore, "renew row 0")
	h.s.onSwap, h.s.onLoad = nil, nil
	if err := h.at(1059).renew(1059, 1067); err != nil {
		t.Fatal(err)
	}
	l := h.l.(*lease)
	if safe, expires := l.renewed.wall.Add(l.safe), h.s.rows[0].Expires; safe.After(expires) {
		t.Errorf("sure until %v, the row expires at %v", safe, expires)
	}
}
