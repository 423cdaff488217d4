package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Run runs the tests of Disposable and Sticky that need no particular server, and of both beside
// leases.
func Run(t *testing.T, b Database) {
	b.run(t, "DisposableConforms", disposableConforms)
	b.run(t, "StickyConforms", stickyConforms)
	b.run(t, "LeasedCreatesItsTables", leasedCreates)
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
