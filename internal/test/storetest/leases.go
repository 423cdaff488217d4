package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// RunLeases runs the tests of LeaseStore that need no particular server.
func RunLeases(t *testing.T, b Database) {
	t.Run("Conforms", func(t *testing.T) { assignertest.RunStore(t, b.fixtures(t)) })
	t.Run("ExpiryHasTheDigitsOfTheClock", func(t *testing.T) { expiryDigits(t, b) })
}

// Driver runs the cases that a second driver of a database, or a pooler before it, may change:
// errors, the life of a lease, transactions and an outage.
func Driver(t *testing.T, b Database) {
	t.Run("ExpiryHasTheDigitsOfTheClock", func(t *testing.T) { expiryDigits(t, b) })
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
