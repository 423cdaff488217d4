package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// wantFence checks that a row has the fence of its lease.
func wantFence(t *testing.T, s assigner.Store, l assigner.Lease, version int64) {
	t.Helper()
	g := l.Grant()
	row, err := s.Load(t.Context(), g.WorkerID)
	if err != nil || row.Fence != g.Limit || row.Version != version {
		t.Errorf("row %+v; want fence %d, version %d: %v", row, g.Limit, version, err)
	}
}

// AmbiguousLeases has connections cut during claims, renewals and releases. db leads through the
// proxy.
func AmbiguousLeases(t *testing.T, db *sqlx.DB, p *Proxy) {
	const owner = "the one whose connection is cut"
	s := LeaseStore(db)
	a := assigner.Leased(s, assigner.LeaseConfig{Owner: owner})
	Assign(t, leased(db)) // worker 0; the namespace is there
	p.CutAfter(owner)
	l := Assign(t, a)
	if l.Grant().WorkerID != 1 || p.Armed() {
		t.Fatalf("worker %d, want 1; cut still to come: %v", l.Grant().WorkerID, p.Armed())
	}
	wantFence(t, s, l, 1)

	limit := l.Grant().Limit
	p.CutAfter(owner)
	if err := l.Renew(t.Context(), limit, limit+100); err != nil || l.Grant().Limit < limit+100 {
		t.Errorf("Renew whose answer was lost: %v, limit %d, want %d at least", err, l.Grant().Limit, limit+100)
	}
	wantFence(t, s, l, 1)

	before := l.Grant()
	p.CutBefore(owner)
	checkWithin(t, l.Renew(t.Context(), before.Limit, before.Limit+100), sqlassigner.ErrUnreachable)
	if l.Grant() != before {
		t.Errorf("grant %+v after a Renew that was lost, want %+v", l.Grant(), before)
	}
	wantFence(t, s, l, 1)
	if err := l.Renew(t.Context(), before.Limit, before.Limit+100); err != nil {
		t.Errorf("Renew afterwards: %v", err)
	}

	lostClaim(t, s, p, owner)

	p.CutAfter(owner)
	if err := l.Release(t.Context(), 0); err != nil {
		t.Errorf("Release whose answer was lost: %v", err)
	}
	if row, err := s.Load(t.Context(), 1); row.Token != "" || row.Fence != l.Grant().Limit || err != nil {
		t.Errorf("row %+v, want it free with fence %d: %v", row, l.Grant().Limit, err)
	}
	if p.Armed() {
		t.Error("a cut is still to come")
	}
	ambiguousMeta(t, s, p)
}

// lostClaim checks that a claim that did not reach the server returns an error and leaves no row.
func lostClaim(t *testing.T, s assigner.Store, p *Proxy, owner string) {
	t.Helper()
	p.CutBefore(owner)
	_, err := TryAssign(t, assigner.Fenced(s, 7, owner, assigner.LeaseConfig{}), time.Minute)
	checkWithin(t, err, sqlassigner.ErrUnreachable)
	if row, err := s.Load(t.Context(), 7); row != (assigner.Row{}) || err != nil {
		t.Errorf("row %+v of a claim that was lost: %v", row, err)
	}
}

// ambiguousMeta: a number is not wasted whether its count got lost or just the answer to it.
func ambiguousMeta(t *testing.T, s assigner.Store, p *Proxy) {
	t.Helper()
	meta, err := s.LoadMeta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := assigner.Auto(s, assigner.LeaseConfig{})
	p.CutAfter(meta.Namespace)
	if got, want := Assign(t, a).Grant().WorkerID, meta.NextWorkerID; got != want || p.Armed() {
		t.Errorf("worker %d when the answer to its count was cut, want %d; cut still to come: %v", got, want, p.Armed())
	}
	p.CutBefore(meta.Namespace)
	_, err = TryAssign(t, a, time.Minute)
	checkWithin(t, err, sqlassigner.ErrUnreachable)
	if got, want := Assign(t, a).Grant().WorkerID, meta.NextWorkerID+1; got != want {
		t.Errorf("worker %d when the count of it was cut before, want %d", got, want)
	}
}

// KillLeases renews leases all the time while the server is killed and started again. No fence may
// go back.
func KillLeases(t *testing.T, db *sqlx.DB, kill func()) {
	t.Helper()
	const holders, kills = 4, 4
	leases := make([]assigner.Lease, holders)
	for i := range leases {
		leases[i] = Assign(t, leased(db))
	}
	stop, renewed := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for _, l := range leases {
		wg.Go(func() { renewUntil(t, l, stop, renewed) })
	}
	for range kills {
		for range 10 * holders {
			<-renewed
		}
		kill()
	}
	close(stop)
	wg.Wait()
	s := LeaseStore(db)
	for _, l := range leases {
		before := l.Grant()
		if err := l.Renew(t.Context(), before.Limit, before.Limit+1); err != nil {
			t.Errorf("Renew at the end: %v", err)
		}
		wantFence(t, s, l, 1)
		if err := l.Release(t.Context(), 0); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
	for range leases {
		g := Assign(t, leased(db)).Grant()
		for _, l := range leases {
			if old := l.Grant(); g.WorkerID == old.WorkerID && g.First <= old.Limit {
				t.Errorf("grant %+v after %+v", g, old)
			}
		}
	}
}

func renewUntil(t *testing.T, l assigner.Lease, stop <-chan struct{}, renewed chan<- struct{}) {
	now := assignertest.Domain().Now
	for {
		limit := l.Grant().Limit
		err := l.Renew(t.Context(), now(), limit+1)
		switch {
		case err == nil && l.Grant().Limit <= limit:
			t.Errorf("limit %d after a Renew, was %d", l.Grant().Limit, limit)
		case err != nil && (!errors.Is(err, sqlassigner.ErrUnreachable) || errors.Is(err, assigner.ErrWorkerRowLost)):
			t.Errorf("Renew: %v, want ErrUnreachable at the worst", err)
		}
		select {
		case <-stop:
			return
		case renewed <- struct{}{}:
		}
	}
}

// SwapWaits has a renewal meet a lock that another session holds until the first attempt has
// failed.
func SwapWaits(t *testing.T, db *sqlx.DB, block, unblock func()) {
	t.Helper()
	log := NewLog()
	s := sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{Logger: log.Logger()})
	l := Assign(t, assigner.Leased(s, assigner.LeaseConfig{}))
	limit := l.Grant().Limit
	block()
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		done <- l.Renew(ctx, limit, limit+100)
		close(done)
	}()
	select {
	case <-log.First():
	case err := <-done:
		t.Errorf("Renew returned while the row was locked: %v", err)
	}
	unblock()
	if err := <-done; err != nil {
		t.Errorf("Renew when the lock is gone: %v", err)
	}
	wantFence(t, s, l, 1)
}

// SwapFails renews a lease on a server whose first swaps fail, and checks how many attempts it
// makes of its own accord.
func SwapFails(t *testing.T, db *sqlx.DB, fail func(), repeated int, sentinel error) {
	t.Helper()
	log := NewLog()
	s := sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{Logger: log.Logger()})
	l := Assign(t, assigner.Leased(s, assigner.LeaseConfig{}))
	row, err := s.Load(t.Context(), l.Grant().WorkerID)
	if err != nil {
		t.Fatal(err)
	}
	fail()
	next := row
	next.Fence++
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ok, err := s.Swap(ctx, row, next, time.Minute)
	if ok != (sentinel == nil) || !errors.Is(err, sentinel) {
		t.Errorf("Swap: %v, %v; want the error %v", ok, err, sentinel)
	}
	if got := log.Texts(); len(got) != repeated {
		t.Errorf("%d attempts were repeated, want %d: %q", len(got), repeated, got)
	}
}
