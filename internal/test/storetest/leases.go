package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

// RunLeases runs the tests of LeaseStore that need no particular server.
func RunLeases(t *testing.T, b Database) {
	b.run(t, "Conforms", func(t *testing.T, b Database) { assignertest.RunStore(t, b.fixtures(t)) })
	b.run(t, "ExpiryHasTheDigitsOfTheClock", expiryDigits)
	b.run(t, "TransactionThatBeginsIsRefused", transactionBegins)
}

// Driver runs the cases that a second driver of a database, or a pooler before it, may change:
// errors, the life of a lease, transactions and an outage.
func Driver(t *testing.T, b Database) {
	b.run(t, "ExpiryHasTheDigitsOfTheClock", expiryDigits)
	b.run(t, "TransactionThatBeginsIsRefused", transactionBegins)
	b.runScript(t, "testdata/drivers.txt")
}

// LeasesWithstandFaults cuts connections, and kills the server if the Database can.
func LeasesWithstandFaults(t *testing.T, b Database) { assignertest.RunFaults(t, b.fixtures(t)) }

// fixtures returns the fixtures of a suite. They share a database: to create one takes longer than
// most cases.
func (b Database) fixtures(t *testing.T) func(t *testing.T) assignertest.StoreFixture {
	_, dsn := b.Applied(t)
	return func(t *testing.T) assignertest.StoreFixture { return b.fixture(t, dsn) }
}

func (b Database) fixture(t *testing.T, dsn string) assignertest.StoreFixture {
	db := b.Open(t, dsn)
	Exec(t, db, "DELETE FROM WORKER_LEASE", "DELETE FROM WORKER_LEASE_META")
	f := assignertest.StoreFixture{
		Handle: func() leasestore.Store { return LeaseStore(b.Open(t, dsn)) },
		Other: func(name string) leasestore.Store {
			return sqlassigner.LeaseStore(b.Open(t, dsn), name, sqlassigner.Config{})
		},
		Down:        func(t *testing.T) (up func()) { return b.Down(t, dsn) },
		Unreachable: sqlassigner.ErrUnreachable,
	}
	if b.Kills {
		f.Kill = func(t *testing.T) { b.Down(t, dsn)() }
	}
	if b.Addr != "" {
		f.Through = func(w *assignertest.Wire) leasestore.Store {
			return LeaseStore(b.Open(t, strings.Replace(dsn, b.Addr, w.Proxy(t, b.Addr), 1)))
		}
	}
	return f
}

// expiryDigits: a row expires exactly its time to live after the swap. SQLite has milliseconds.
func expiryDigits(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	before, err := s.Status(t.Context())
	testkit.Must(t, err)
	const ttl, digit = time.Minute, time.Millisecond
	if ok, err := s.Swap(t.Context(), leasestore.Row{}, leasestore.Row{WorkerID: 1, Version: 1, Owner: `ö'"\%?$1`}, ttl); !ok || err != nil {
		t.Fatalf("Swap: %v, %v", ok, err)
	}
	row, errRow := s.Load(t.Context(), 1)
	after, errAfter := s.Status(t.Context())
	if errRow != nil || errAfter != nil || row.Expires.Before(before.Now.Add(ttl-digit)) || row.Expires.After(after.Now.Add(ttl+digit)) || row.Owner != `ö'"\%?$1` {
		t.Errorf("row %+v, want that it expires %v after a time from %v to %v: %v, %v", row, ttl, before.Now, after.Now, errRow, errAfter)
	}
}

// wantFence checks that a row has the fence of its lease.
func wantFence(t *testing.T, s leasestore.Store, l assigner.Lease, version int64) {
	t.Helper()
	g := l.Grant()
	row, err := s.Load(t.Context(), g.WorkerID)
	if err != nil || row.Fence != g.Last || row.Version != version {
		t.Errorf("row %+v; want fence %d, version %d: %v", row, g.Last, version, err)
	}
}

// transactionBegins has a holder's connection begin a transaction. If a renewal succeeds, other
// connections see it.
func transactionBegins(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	mine := b.Open(t, dsn)
	mine.SetMaxOpenConns(1)
	l := Assign(t, Leased(mine))
	before := l.Grant()
	Exec(t, mine, "BEGIN")
	err := stores.Extend(t.Context(), l, before.Last, before.Last+100)
	if err != nil && l.Grant() != before {
		t.Errorf("grant %+v after a Renew that failed, want %+v", l.Grant(), before)
	}
	wantFence(t, LeaseStore(db), l, 1)
	if err == nil { // a driver or pooler has dropped the connection
		return
	}
	for _, err := range []error{err, leasestore.Recover(t.Context(), LeaseStore(mine), leasestore.Recovery{Lead: time.Hour})} {
		stores.WantError(t, err, leasestore.ErrNotDurable, "inside a transaction")
	}
	Exec(t, mine, "COMMIT") // the transaction is still the caller's, and nothing was written in it
	wantFence(t, LeaseStore(mine), l, 1)
	limit := l.Grant().Last
	testkit.Must(t, stores.Extend(t.Context(), l, limit, limit+100))
	Exec(t, mine, "BEGIN")
	stores.WantError(t, l.End(t.Context(), assigner.Ending{Released: true}), leasestore.ErrNotDurable, "inside a transaction")
	Exec(t, mine, "COMMIT")
	wantFence(t, LeaseStore(mine), l, 1)
}

// LockedRow has another session hold the lock of a free row. Starts take other rows.
func LockedRow(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	l := Assign(t, Leased(db))
	testkit.Must(t, l.End(t.Context(), assigner.Ending{Released: true, Used: 1}))
	other, err := b.Open(t, dsn).Beginx()
	testkit.Must(t, err)
	defer func() { testkit.Must(t, other.Rollback()) }()
	var swaps int
	testkit.Must(t, other.Get(&swaps, fmt.Sprintf("SELECT SWAPS FROM WORKER_LEASE WHERE NAMESPACE = '%s' AND WORKER_ID = %d FOR UPDATE", namespace, l.Grant().WorkerID)))
	began := time.Now()
	for range 10 {
		if next := Assign(t, Leased(db)); next.Grant().WorkerID == l.Grant().WorkerID {
			t.Errorf("worker %d, whose row is locked", l.Grant().WorkerID)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("10 starts beside a locked row took %v", took)
	}
}
