package assigner

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

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
			l := take(t, clocked(Leased(s, LeaseConfig{}))).(*lease)
			start := l.clock()
			l.clock = func() instant { return instant{start.mono + row.mono, start.wall.Add(row.wall)} }
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
	a := clocked(Fenced(s, Static(0), "orders-0", LeaseConfig{MaxLead: time.Hour}))
	l := take(t, a)
	claimed := s.rows[0]
	if err := l.Renew(t.Context(), memStart+5000, memStart+5000); err != nil { // far ahead of the clock
		t.Fatal(err)
	}
	s.status.Identity, s.rows[0] = "B", claimed // it lacks the renewal
	wantError(t, l.Renew(t.Context(), memStart+5000, memStart+5000), ErrWorkerRowLost)
	limit := l.Grant().Limit
	quarantined := clocked(Fenced(s, Static(0), "orders-0", LeaseConfig{MaxLead: time.Hour}))
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
		l := take(t, clocked(Leased(s, LeaseConfig{})))
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

// Stores without a clock show when they were written last. A host that is behind has a wrong clock,
// or the writer had.
func TestAssignRejectsAHostBehindTheLastWrite(t *testing.T) {
	s := newMemStore()
	s.status.Seen = memTime(memStart + 62)
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
	wantError(t, err, leasestore.ErrClockSkew, "last written at 2026-01-01T00:17:42Z", "1m2s", "allowed: 1m0s")
	s.status.Seen = memTime(memStart + 61)
	l := take(t, clocked(Leased(s, LeaseConfig{})))
	s.status.Seen = memTime(memStart + 62)
	wantError(t, l.Renew(t.Context(), 1010, 1018), leasestore.ErrClockSkew, "last written")
}
