package assigner

import (
	"errors"
	"testing"
	"time"

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
	h.l = takeIn(t, clocked(Leased(h.s, LeaseConfig{Window: shortWindow.Window, Owner: "tenant"})), d)
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

func TestRenewThatArrivesLate(t *testing.T) {
	late := func() *tenant {
		h := newTenant(t).at(1020)
		arrive := h.s.delay()
		wantError(t, h.renew(1020, 1028), errLostAnswer)
		wantGrant(t, h.l, 0, 1, 1030)
		arrive()
		return h
	}
	late().limit(1030, 1030, 1120) // it is adopted, and raised
	late().at(1100).limit(1100, 1100, 1160)
	h := late()
	if err := h.l.Release(t.Context(), 1020); err != nil {
		t.Fatal(err)
	}
	if got := h.s.rows[0]; got.Fence != 1080 || got.Token != "" {
		t.Errorf("row = %+v, want it free, with the fence 1080", got)
	}
}

func TestRenewEndsTheLeaseWhen(t *testing.T) {
	put := func(change func(*leasestore.Row)) func(*memStore) {
		return func(s *memStore) {
			row := s.rows[0]
			change(&row)
			s.put(row)
		}
	}
	for name, row := range map[string]struct {
		happens  func(*memStore)
		sentinel error
		words    string
	}{
		"another has taken the row over": {put(func(r *leasestore.Row) { *r = leasestore.Row{Version: 3, Fence: 1100, Token: "U", Owner: "other"} }),
			ErrWorkerRowLost, `row 0 has been taken over by "other"`},
		"the row was taken over and left again": {put(func(r *leasestore.Row) { *r = leasestore.Row{Version: 3, Fence: 1100} }), ErrWorkerRowLost, "taken over"},
		"the row was deleted":                   {func(s *memStore) { delete(s.rows, 0) }, leasestore.ErrRowMissing, "row 0: never delete rows"},
		"the fence has gone back":               {put(func(r *leasestore.Row) { r.Fence = 1029 }), leasestore.ErrFenceRegressed, "fence 1029 of"},
		"the version has gone back":             {put(func(r *leasestore.Row) { r.Version, r.Fence = 1, 2000 }), leasestore.ErrFenceRegressed, "version 1 and fence 2000"},
		"the row was reset and has grown back": {put(func(r *leasestore.Row) { r.Token = "U" }), leasestore.ErrFenceRegressed,
			"here 2 and 1030"},
		"a copy of the process has released the row": {put(func(r *leasestore.Row) { r.Token = "" }), ErrWorkerRowLost, "taken over"},
		"the fence was raised":                       {put(func(r *leasestore.Row) { r.Fence += 1000 }), ErrWorkerRowLost, "fence 2030, here 1030"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTenant(t)
			token := h.s.rows[0].Token
			row.happens(h.s)
			before := h.s.rows[0]
			err := h.renew(1020, 1028)
			wantError(t, err, row.sentinel, row.words)
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
			for _, sentinel := range []error{leasestore.ErrRowMissing, leasestore.ErrFenceRegressed} {
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

// A renewal took effect and its answer was lost. The next one finds the fence that it was about to
// set: it renews the row, or the lease would count on an expiry that the row does not have.
func TestRenewExtendsARowThatItFindsAsWanted(t *testing.T) {
	h := newTenant(t)
	h.limit(1200, 1200, 1320) // an idle generator ahead of the clock: each renewal adds a unit
	h.s.lose(1)
	h.s.onLoad = func() error { return errStore }
	wantError(t, h.at(1010).renew(1200, 1200), errStore, "renew row 0")
	h.s.onSwap, h.s.onLoad = nil, nil
	h.at(1050).limit(1200, 1200, 1321)
	if got := h.s.rows[0]; !got.Expires.Equal(memTime(1110)) {
		t.Errorf("row expires at %v, want two windows from now, %v", got.Expires, memTime(1110))
	}
}

// Two copies of a process renew in the same unit, and want the same fence: only one gets it.
func TestRenewIsNotSharedWithACopy(t *testing.T) {
	h := newTenant(t)
	other := *h.l.(*lease)
	h.at(1020).limit(1020, 1028, 1080)
	wantError(t, other.Renew(t.Context(), 1020, 1028), ErrWorkerRowLost, "copy of this process")
}

// A holder that was cut off comes back to a server that lacks the claim of its successor. The new
// server's clock is slow: it says that the row has not expired. The holder's own clocks say that it
// may have.
func TestRenewOnAnotherServerCountsItsOwnTime(t *testing.T) {
	const away = 61 * time.Second
	for name, row := range map[string]struct {
		mono, wall time.Duration
		lost       bool
	}{
		"both clocks":                       {away, away, true},
		"the machine was suspended":         {time.Second, away, true},
		"the wall clock was set back":       {away, -time.Minute, true},
		"it was away for less than that":    {44 * time.Second, 44 * time.Second, false},
		"it was away for a window and half": {44 * time.Second, 45 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.status.Identity = "A"
			l := take(t, clocked(Leased(s, shortWindow))).(*lease)
			start := l.clock()
			l.clock = func() instant { return instant{start.mono.Add(row.mono), start.wall.Add(row.wall)} }
			s.status.Identity, s.status.Now = "B", memTime(memStart+30)
			before := l.Grant()
			err := l.Renew(t.Context(), 1010, 1018)
			if row.lost {
				wantError(t, err, ErrWorkerRowLost, `was "A" and is "B"`)
				if l.Grant() != before {
					t.Errorf("grant %+v, was %+v", l.Grant(), before)
				}
			} else if err != nil || s.rows[0].Identity != "B" {
				t.Errorf("Renew: %v; row %+v", err, s.rows[0])
			}
		})
	}
}

// A successor on the new server begins above its quarantine. Up to there the grant is exclusive,
// and the holder keeps it.
func TestRenewOnAnotherServerLowersTheLimit(t *testing.T) {
	s := newMemStore()
	s.status.Identity = "A"
	a := clocked(Fenced(s, Static(0), "orders-0", LeaseConfig{Window: shortWindow.Window, MaxLead: time.Hour}))
	l := take(t, a)
	claimed := s.rows[0]
	if err := l.Renew(t.Context(), memStart+5000, memStart+5000); err != nil { // far ahead of the clock
		t.Fatal(err)
	}
	s.status.Identity, s.rows[0] = "B", claimed // it lacks the renewal
	wantError(t, l.Renew(t.Context(), memStart+5000, memStart+5000), ErrWorkerRowLost)
	limit := l.Grant().Limit
	quarantined := clocked(Fenced(s, Static(0), "orders-0", LeaseConfig{Window: shortWindow.Window, MaxLead: time.Hour}))
	if _, err := quarantined.Assign(t.Context(), memDomain()); err == nil {
		t.Fatal("no quarantine")
	}
	// The lead, two windows and a unit; the clocks of two servers may differ by MaxSkew.
	const want = memStart + 3600 + 60 + 1
	if first := quarantined.(*leaser).waiting[0].first; limit != want || first <= limit {
		t.Errorf("limit %d, the successor begins at %d; want %d, and the successor above it", limit, first, want)
	}
}

// A quarantine covers every grant of a holder that is no further ahead of the clock than MaxLead,
// two windows here, at any pace and demand. A holder that is further ahead goes on.
func TestRenewReachesAsFarAsAQuarantineCovers(t *testing.T) {
	for _, row := range []struct{ used, want, limit int64 }{
		{memStart + 1, memStart + 1, memStart + 61},
		{memStart + 1, memStart + 1000, memStart + 120},
		{memStart + 60, memStart + 60, memStart + 120}, // the window doubles, and is cut
		{memStart + 61, memStart + 61, memStart + 61 + 120},
	} {
		s := newMemStore()
		s.status.Identity = "A"
		l := take(t, clocked(Leased(s, shortWindow)))
		if err := l.Renew(t.Context(), row.used, row.want); err != nil {
			t.Fatal(err)
		}
		wantGrant(t, l, 0, 1, row.limit)
	}
}

// A clock that is a year ahead for a moment must not lift the fence by a year, and a want that is
// none of its own does no harm either.
func TestRenewWithAnAbsurdWant(t *testing.T) {
	year := int64(memStart + 365*24*3600)
	for skew, limit := range map[time.Duration]int64{time.Second: 1030 + 120, time.Minute: 1030 + 120, 10 * time.Minute: 1030 + 1200} {
		h := newTenant(t)
		h.l.(*lease).cfg.MaxSkew = skew
		h.at(1020).limit(1020, year, limit) // four windows above the fence, or twice MaxSkew
	}
}
