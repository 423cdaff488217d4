package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Run runs the suite for Disposable and Sticky.
func Run(t *testing.T, b Database) {
	b.conforms(t, "DisposableConforms", assigner.GuaranteeFresh, "WORKER_NODE WHERE ID",
		func(db *sqlx.DB, _ string) assigner.Assigner { return sqlassigner.Disposable(db, sqlassigner.Config{}) })
	b.conforms(t, "StickyConforms", assigner.GuaranteeSticky, "WORKER_STICKY WHERE WORKER_ID",
		func(db *sqlx.DB, key string) assigner.Assigner {
			return sqlassigner.Sticky(db, key, sqlassigner.Config{})
		})
}

func (b Database) conforms(t *testing.T, name string, g assigner.Guarantee, rows string,
	open func(db *sqlx.DB, key string) assigner.Assigner) {
	t.Run(name, func(t *testing.T) {
		assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
			db, _ := b.Applied(t)
			return assignertest.AssignerFixture{
				Assigner:  func(key string) assigner.Assigner { return open(db, key) },
				Guarantee: g, Reusable: g == assigner.GuaranteeSticky, Pinned: true,
				Delete: func(t *testing.T, workerID int64) { Exec(t, db, fmt.Sprintf("DELETE FROM %s = %d", rows, workerID)) },
			}
		})
	})
}

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
	return func(t *testing.T) assignertest.StoreFixture {
		Exec(t, b.Open(t, dsn), "DELETE FROM WORKER_LEASE", "DELETE FROM WORKER_LEASE_META")
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
}

// expiryDigits: a row expires exactly its time to live after the swap. SQLite has milliseconds.
func expiryDigits(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	s := LeaseStore(db)
	const ttl, digit, owner = time.Minute, time.Millisecond, `ö'"\%?$1`
	before := stores.Status(t, s).Now
	row := stores.Create(t, s, leasestore.Row{WorkerID: 1, Version: 1, Owner: owner}, ttl)
	after := stores.Status(t, s).Now
	if row.Expires.Before(before.Add(ttl-digit)) || row.Expires.After(after.Add(ttl+digit)) || row.Owner != owner {
		t.Errorf("row %+v, want that it expires %v after a time from %v to %v", row, ttl, before, after)
	}
}

// Statements checks how many statements a start, a renewal and a close cost. asked returns how many
// the server has counted. db has its tables; a second handle has no connection left over from call
// to call.
func Statements(t *testing.T, db, coming *sqlx.DB, asked func() int) {
	coming.SetMaxIdleConns(-1)
	for _, tt := range []struct {
		name        string
		db          *sqlx.DB
		start, most int // the most for a renewal, and for a close
	}{
		{"the pool keeps its connections", db, 14, 4},
		{"connections come and go", coming, 20, 8},
	} {
		asked := func(f func()) int {
			before := asked()
			f()
			return asked() - before
		}
		var l assigner.Lease
		for try := range 3 { // the first start makes the namespace, and the next ones find a worker ID
			start := asked(func() { l = Assign(t, Leased(tt.db)) })
			renewal := asked(func() { Renew(t, l) })
			end := asked(func() { testkit.Must(t, l.End(t.Context(), assigner.Ending{Released: true, Used: l.Grant().First})) })
			t.Logf("%s: start %d, renewal %d, close %d", tt.name, start, renewal, end)
			if try > 0 && (start > tt.start || renewal > tt.most || end > tt.most) {
				t.Errorf("%s: allowed for a start %d, for a renewal and a close %d", tt.name, tt.start, tt.most)
			}
		}
	}
}
