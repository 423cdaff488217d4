package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/recorder"
)

// wantFence checks that a row has the fence of its lease.
func wantFence(t *testing.T, s leasestore.Store, l assigner.Lease, version int64) {
	t.Helper()
	g := l.Grant()
	row, err := s.Load(t.Context(), g.WorkerID)
	if err != nil || row.Fence != g.Limit || row.Version != version {
		t.Errorf("row %+v; want fence %d, version %d: %v", row, g.Limit, version, err)
	}
}

// SwapWaits has a renewal meet a lock that another session holds until the first attempt has
// failed.
func SwapWaits(t *testing.T, db *sqlx.DB, block, unblock func()) {
	t.Helper()
	log := recorder.Recorder{First: make(chan struct{})}
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
	case <-log.First:
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
	var log recorder.Recorder
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
	if got := log.Read(); len(got) != repeated {
		t.Errorf("%d attempts were repeated, want %d: %q", len(got), repeated, got)
	}
}
