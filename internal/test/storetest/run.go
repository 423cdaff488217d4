package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Run runs the tests of Disposable and Sticky that need no particular server, and of both beside
// leases.
func Run(t *testing.T, b Database) {
	b.run(t, "LeasesOutliveAnOutage", outlive)
	b.run(t, "DisposableConforms", disposableConforms)
	b.run(t, "StickyConforms", stickyConforms)
	b.run(t, "LeasedCreatesItsTables", leasedCreates)
}

// outlive renews leases without a fence while the server is away, and has an assignment wait for
// it.
func outlive(t *testing.T, b Database) {
	if !b.Kills {
		t.Skip("the database has no server, or a shared one")
	}
	db, dsn := b.Applied(t)
	leases := []assigner.Lease{Assign(t, Disposable(db)), Assign(t, Sticky(db))}
	var up func()
	ComesBack(t, db, func() { up = b.Down(t, dsn) }, func() {
		for _, l := range leases {
			before := l.Grant()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := stores.Extend(ctx, l, 1, 1)
			cancel()
			if !errors.Is(err, sqlassigner.ErrUnreachable) || errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
				t.Errorf("Renew: %v, grant %+v; want ErrUnreachable and %+v", err, l.Grant(), before)
			}
		}
		up()
	})
	for _, l := range leases {
		Renew(t, l)
	}
}

// ComesBack starts an assignment while the server is away and has it come back at the first attempt
// that failed.
func ComesBack(t *testing.T, db *sqlx.DB, down, up func()) {
	t.Helper()
	l := Assign(t, Disposable(db))
	down()
	log := testkit.Recorder{First: make(chan struct{})}
	waits(t, &log, func() error {
		_, err := TryAssign(t, sqlassigner.Disposable(db, sqlassigner.Config{Logger: log.Logger()}), time.Minute)
		return err
	}, up)
	Renew(t, l)
}

// waits checks that a call, which logs its attempts, tries again until help has run, which its
// first failed attempt starts.
func waits(t *testing.T, log *testkit.Recorder, call func() error, help func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case <-log.First:
		help()
		if err := <-done; err != nil {
			t.Error(err)
		}
	case err := <-done:
		t.Errorf("the call returned %v at once", err)
		help()
	}
}

func disposableConforms(t *testing.T, b Database) {
	b.conforms(t, assigner.GuaranteeFresh, "WORKER_NODE WHERE ID", func(db *sqlx.DB, _ string) assigner.Assigner { return Disposable(db) })
}

func stickyConforms(t *testing.T, b Database) {
	b.conforms(t, assigner.GuaranteeSticky, "WORKER_STICKY WHERE WORKER_ID", func(db *sqlx.DB, key string) assigner.Assigner {
		return sqlassigner.Sticky(db, key, sqlassigner.Config{})
	})
}

func (b Database) conforms(t *testing.T, g assigner.Guarantee, rows string, open func(db *sqlx.DB, key string) assigner.Assigner) {
	assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
		db, _ := b.Applied(t)
		return assignertest.AssignerFixture{
			Assigner:  func(key string) assigner.Assigner { return open(db, key) },
			Guarantee: g, Reusable: g == assigner.GuaranteeSticky, Pinned: true,
			Delete: func(t *testing.T, workerID int64) { Exec(t, db, fmt.Sprintf("DELETE FROM %s = %d", rows, workerID)) },
		}
	})
}

// takeAtOnce has n assigners, with a handle each as processes have, take a worker ID at once, and
// checks that all differ.
func takeAtOnce(t *testing.T, n int, open func() assigner.Assigner) {
	t.Helper()
	assigners, workers := make([]assigner.Assigner, n), make([]int64, n)
	for i := range assigners {
		assigners[i] = open()
	}
	testkit.Together(n, func(i int) {
		l, err := TryAssign(t, assigners[i], time.Minute)
		if err != nil {
			t.Errorf("Assign %d: %v", i, err)
			return
		}
		workers[i] = l.Grant().WorkerID
	})
	if different := len(slices.Compact(slices.Sorted(slices.Values(workers)))); different != n {
		t.Errorf("workers %v, %d different ones, want %d", workers, different, n)
	}
}

// leasedCreates has assigners that start at once create the tables. Afterwards a missing table
// stays missing.
func leasedCreates(t *testing.T, b Database) {
	db, dsn := b.Empty(t)
	takeAtOnce(t, 6, func() assigner.Assigner { return sqlassigner.Leased(b.Open(t, dsn), namespace) })
	Refused(t, Disposable(db), sqlassigner.ErrTableMissing, "schema.Nodes")
	a := sqlassigner.Leased(db, namespace)
	Assign(t, a)
	if held := Get[int](t, db, "SELECT COUNT(*) FROM WORKER_LEASE WHERE TOKEN <> ''"); held != 7 {
		t.Errorf("%d worker IDs are held, want 7", held)
	}
	Exec(t, db, "DROP TABLE WORKER_LEASE", "DROP TABLE WORKER_LEASE_META")
	Refused(t, a, sqlassigner.ErrTableMissing, "schema.Leases")
	Assign(t, sqlassigner.Leased(db, namespace))
}
