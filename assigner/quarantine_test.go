package assigner

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// wantQuarantine checks that a claim is in quarantine.
func wantQuarantine(t *testing.T, a Assigner, worker int64, remaining time.Duration) {
	t.Helper()
	l, err := a.Assign(t.Context(), memDomain())
	if l != nil {
		t.Errorf("lease %v, want none", l)
	}
	wantError(t, err, ErrQuarantined, fmt.Sprintf(": worker %d for %v more: the store ", worker, remaining))
	wantRetry(t, err, remaining)
}

func TestQuarantineOnALossyStore(t *testing.T) {
	s := newMemStore()
	s.status.Lossy = true
	a := clocked(Leased(s, shortWindow))
	wantQuarantine(t, a, 0, 90*time.Second)
	row := s.rows[0]
	if row.Token == "" || row.Fence != 0 || !row.Expires.Equal(memTime(memStart+90+60)) {
		t.Errorf("row %+v, want it held for 150 s, and its fence as it was", row)
	}
	s.status.Now = memTime(memStart + 50)
	wantQuarantine(t, a, 0, 40*time.Second)
	if s.rows[0] != row {
		t.Errorf("row %+v while it waits, was %+v", s.rows[0], row)
	}
	l := takeIn(t, a, s.at(memStart+90))
	want := Grant{WorkerID: 0, First: memStart + 91, Limit: memStart + 90 + 30, Guarantee: GuaranteeLossy, Reusable: true}
	if g := l.Grant(); g != want {
		t.Errorf("grant %+v, want %+v: above what was forgotten, up to the store's clock and a window", g, want)
	}
}

// The source of Fenced may give another worker ID later, such as after a change of address.
func TestFencedKeepsAWorkerIDForItsSource(t *testing.T) {
	t.Setenv("WORKER", "1")
	s := newMemStore()
	s.status.Lossy = true
	a := clocked(Fenced(s, Env("WORKER"), "host", shortWindow))
	wantQuarantine(t, a, 1, 90*time.Second)
	t.Setenv("WORKER", "2")
	s.status.Now = memTime(memStart + 50)
	wantQuarantine(t, a, 2, 90*time.Second)
	t.Setenv("WORKER", "1")
	if g := takeIn(t, a, s.at(memStart+90)).Grant(); g.WorkerID != 1 {
		t.Errorf("grant %+v, want worker 1", g)
	}
}

// lossyLease returns a lease on a lossy store, out of quarantine.
func lossyLease(t *testing.T) (*memStore, Lease) {
	t.Helper()
	s := newMemStore()
	s.status.Lossy = true
	a := clocked(Leased(s, LeaseConfig{Window: shortWindow.Window, MaxSkew: time.Hour}))
	wantQuarantine(t, a, 0, time.Hour+30*time.Second)
	l := takeIn(t, a, s.at(memStart+3630))
	return s, l
}

func TestRenewOnALossyStoreEndsAfterAWindowAndAHalf(t *testing.T) {
	s, l := lossyLease(t)
	before := l.Grant()
	s.at(memStart + 3630 + 44)
	if err := l.Renew(t.Context(), before.Limit, before.Limit); err != nil {
		t.Errorf("Renew within a window and a half: %v", err)
	}
	before = l.Grant()
	s.at(memStart + 3630 + 44 + 45)
	wantError(t, l.Renew(t.Context(), before.Limit, before.Limit), ErrWorkerRowLost, "row 0", "may have forgotten")
	if l.Grant() != before {
		t.Errorf("grant %+v, was %+v", l.Grant(), before)
	}
}

func TestFencedOnALossyStoreWaitsForTheSameOwner(t *testing.T) {
	s := newMemStore()
	s.status.Lossy = true
	wantQuarantine(t, clocked(Fenced(s, Static(2), "orders-2", shortWindow)), 2, 90*time.Second)
	d := memDomain()
	d.Registered = true
	a := clocked(Fenced(s, Static(1), "orders-1", shortWindow))
	if _, err := a.Assign(t.Context(), d); !errors.Is(err, ErrQuarantined) {
		t.Errorf("Assign = %v, want ErrQuarantined", err)
	}
	row := s.rows[2]
	wantQuarantine(t, clocked(Fenced(s, Static(2), "orders-2", shortWindow)), 2, 150*time.Second)
	if s.rows[2] != row {
		t.Errorf("row %+v, was %+v", s.rows[2], row)
	}
	late := s.at(memStart + 90)
	late.Registered = true
	mine := takeIn(t, a, late)
	_, err := clocked(Fenced(s, Static(1), "orders-1", shortWindow)).Assign(t.Context(), late)
	wantError(t, err, ErrWorkerInUse, "a generator of this process")
	if err := mine.Renew(t.Context(), 0, 0); err != nil {
		t.Errorf("Renew: %v", err)
	}
	mine.(interface{ Abandon() }).Abandon()
}

// Time that passes during a claim counts as part of the quarantine that the answer gives.
func TestQuarantineBeginsAtTheEndOfAClaim(t *testing.T) {
	s := newMemStore()
	s.status.Lossy = true
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		defer func() { s.status.Now = memTime(memStart + 5) }()
		return do(), nil
	}
	a := clocked(Leased(s, shortWindow))
	wantQuarantine(t, a, 0, 90*time.Second)
	start := a.(*leaser).clock()
	a.(*leaser).clock = func() instant { return instant{start.mono.Add(10 * time.Second), start.wall.Add(time.Hour)} }
	s.at(memStart + 60)
	wantQuarantine(t, a, 0, 80*time.Second) // the machine was suspended
}

// A lease that is not renewed at the end of its quarantine is kept for the next call.
func TestQuarantineOutlastsAFailureOfTheStore(t *testing.T) {
	s := newMemStore()
	s.status.Lossy = true
	a := clocked(Leased(s, shortWindow))
	wantQuarantine(t, a, 0, 90*time.Second)
	d := s.at(memStart + 90)
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) { return false, errStore }
	_, err := a.Assign(t.Context(), d)
	wantError(t, err, errStore)
	s.onSwap = nil
	if g := takeIn(t, a, d).Grant(); g.WorkerID != 0 {
		t.Errorf("grant %+v, want worker 0", g)
	}
}

// The fence of the namespace is raised for the server on which the quarantine was.
func TestQuarantineDoesNotClearALaterServer(t *testing.T) {
	s := newMemStore()
	s.pin(1)
	s.meta.Identity, s.status.Identity = "A", "B"
	a := clocked(Auto(s, shortWindow))
	wantQuarantine(t, a, 1, 181*time.Second)
	s.status.Identity = "C"
	takeIn(t, a, s.at(memStart+181))
	if s.meta.Identity != "A" || s.meta.Fence != 0 {
		t.Errorf("meta %+v, want it as it was: C may lack commits, too", s.meta)
	}
}

func TestQuarantineOfARowOfAnotherServer(t *testing.T) {
	s := newMemStore()
	s.status.Identity = "A timeline 1"
	take(t, clocked(Leased(s, shortWindow)))
	s.rows[0] = leasestore.Row{WorkerID: 0, Version: 1, Fence: 1030, Identity: "A timeline 1"}
	s.status.Identity = "A timeline 2"
	a := clocked(Leased(s, shortWindow))
	wantQuarantine(t, a, 0, 181*time.Second)
	if row := s.rows[0]; row.Identity != "A timeline 1" || row.Fence != 1030 {
		t.Errorf("row %+v, want the old identity until the quarantine ends", row)
	}
	l := takeIn(t, a, s.at(memStart+181))
	if g := l.Grant(); g.First != memStart+182 || g.Limit < memStart+182+30 || g.Guarantee != GuaranteeFenced {
		t.Errorf("grant %+v, want it above what may have been lost", g)
	}
	if row := s.rows[0]; row.Identity != "A timeline 2" {
		t.Errorf("row %+v, want the new identity", row)
	}
	// From now on worker IDs that are new to the server start above it, too.
	if s.meta.Identity != "A timeline 2" || s.meta.Fence != memStart+181 {
		t.Errorf("meta %+v, want the new identity and the fence %d", s.meta, memStart+181)
	}
	l = takeIn(t, clocked(Leased(s, shortWindow)), s.at(memStart+181))
	if g := l.Grant(); g.WorkerID != 1 || g.First != memStart+182 {
		t.Errorf("grant %+v, want a new worker ID from %d", g, memStart+182)
	}
	if err := l.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.status.Identity = "" // a server without an identity is never replaced
	takeIn(t, clocked(Leased(s, shortWindow)), s.at(memStart+181))
}

// A fence at the bound of the store's clock cannot be raised: a renewal then changes the expiry
// alone.
func TestRenewAtTheBoundOfALossyStore(t *testing.T) {
	s, l := lossyLease(t)
	limit := l.Grant().Limit
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) { return false, nil }
	wantError(t, l.Renew(t.Context(), limit, limit+1000), nil, "the store refuses a swap")
	s.lose(1)             // the row looks the same whether it took effect or not
	s.at(memStart + 3630) // no time has passed
	wantError(t, l.Renew(t.Context(), limit, limit+1000), errLostAnswer)
	s.at(memStart + 3640)
	s.lose(1) // its answer is lost, and the fence is below the wanted delta
	if err := l.Renew(t.Context(), limit, limit+1000); err != nil || l.Grant().Limit != limit+10 {
		t.Errorf("Renew: %v; grant %+v, want the limit %d", err, l.Grant(), limit+10)
	}
}

// A swap took effect late, and the store's clock has gone back since: the fence stays.
func TestRenewOnALossyStoreLowersNoFence(t *testing.T) {
	s, l := lossyLease(t)
	limit := l.Grant().Limit
	s.at(memStart + 3650)
	arrive := s.delay()
	wantError(t, l.Renew(t.Context(), limit, limit+1000), errLostAnswer)
	arrive()
	s.at(memStart + 3640)
	if err := l.Renew(t.Context(), limit, limit+1000); err != nil || s.rows[0].Fence != limit+20 || l.Grant().Limit != limit+20 {
		t.Errorf("Renew: %v; row %+v, grant %+v, want the fence %d", err, s.rows[0], l.Grant(), limit+20)
	}
}
