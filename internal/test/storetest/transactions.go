package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// RefusedFor checks that every assigner rejects a handle, also with AllowUndurable. db connects to
// the same tables.
func RefusedFor(t *testing.T, db, handle *sqlx.DB, parts ...string) {
	t.Helper()
	for name, use := range users() {
		Assign(t, use(db)) // namespace, pin and key are there
		l, err := TryAssign(t, use(handle), 5*time.Second)
		if err == nil {
			t.Errorf("%s: grant %+v, want none", name, l.Grant())
			continue
		}
		checkWithin(t, err, assigner.ErrStoreNotDurable, parts...)
	}
}

// besideDisposable is the first worker ID of a namespace that has Disposable in its database.
const besideDisposable = 1000

func leasedBeside(db *sqlx.DB) assigner.Assigner { return from(db, namespace, besideDisposable) }

// users are the assigners that write to the tables, each with and without AllowUndurable.
func users() map[string]func(*sqlx.DB) assigner.Assigner {
	undurable := sqlassigner.Config{AllowUndurable: true}
	beside := assigner.LeaseConfig{FirstWorkerID: besideDisposable}
	leases := assigner.LeaseConfig{FirstWorkerID: besideDisposable, AllowUndurable: true}
	return map[string]func(*sqlx.DB) assigner.Assigner{
		"Disposable": disposable,
		"Sticky":     sticky,
		"Leased":     leasedBeside,
		"Auto":       func(db *sqlx.DB) assigner.Assigner { return assigner.Auto(LeaseStore(db), beside) },
		"Fenced": func(db *sqlx.DB) assigner.Assigner {
			return assigner.Fenced(LeaseStore(db), assigner.Static(besideDisposable+7), "owner", beside)
		},
		"undurable Disposable": func(db *sqlx.DB) assigner.Assigner { return sqlassigner.Disposable(db, undurable) },
		"undurable Sticky":     func(db *sqlx.DB) assigner.Assigner { return sqlassigner.Sticky(db, "orders", undurable) },
		"undurable Leased":     func(db *sqlx.DB) assigner.Assigner { return assigner.Leased(LeaseStore(db), leases) },
	}
}

// NoConnectionLeft takes all connections of a server.
func NoConnectionLeft(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	var err error
	for err == nil {
		_, err = db.Connx(t.Context()) // the handle's end closes it
	}
	for _, a := range []assigner.Assigner{leased(b.Open(t, dsn)), disposable(b.Open(t, dsn))} {
		_, err := TryAssign(t, a, 300*time.Millisecond)
		checkWithin(t, err, sqlassigner.ErrUnreachable, "max_connections")
	}
}

// A Denial is a handle that no assigner gets a worker ID over: the error is Is, and its text has
// Says.
type Denial struct {
	DSN  string
	Is   error
	Says string
}

// Denied checks the errors of Disposable, Sticky and Leased on handles whose DSNs have a password
// with hunter2 in it.
func Denied(t *testing.T, open func(t *testing.T, dsn string) *sqlx.DB, denials []Denial) {
	t.Helper()
	for _, d := range denials {
		db := open(t, d.DSN)
		passes := errors.Is(d.Is, sqlassigner.ErrUnreachable) || errors.Is(d.Is, assigner.ErrStoreNotDurable)
		timeout := time.Minute
		if passes {
			timeout = 300 * time.Millisecond
		}
		for name, use := range map[string]func(*sqlx.DB) assigner.Assigner{"Disposable": disposable, "Sticky": sticky, "Leased": leasedBeside} {
			_, err := TryAssign(t, use(db), timeout)
			checkWithin(t, err, d.Is, d.Says)
			if text := fmt.Sprint(err); strings.Contains(text, "hunter2") {
				t.Errorf("%s: the error has the password: %s", name, text)
			}
			if errors.Is(err, context.DeadlineExceeded) != passes {
				t.Errorf("%s of %s: %v; want it to be tried again: %v", name, d.Says, err, passes)
			}
		}
	}
}

// openTransaction takes worker IDs over a connection that is inside a transaction. A grant is gone
// when that ends, and the next process gets the same: 60,000 of 60,000 IDs were equal.
func openTransaction(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	RefusedFor(t, db, b.Inside(t, dsn), "inside a transaction", "BeginTx")
}

// transactionBegins has a holder's connection begin a transaction. If a renewal succeeds, other
// connections see it.
func transactionBegins(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	mine := b.Open(t, dsn)
	mine.SetMaxOpenConns(1)
	l := Assign(t, leased(mine))
	before := l.Grant()
	Exec(t, mine, "BEGIN")
	err := l.Renew(t.Context(), before.Limit, before.Limit+100)
	if err != nil {
		if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), "inside a transaction") {
			t.Errorf("Renew: %v, want ErrStoreNotDurable naming the transaction", err)
		}
		if l.Grant() != before {
			t.Errorf("grant %+v after a Renew that failed, want %+v", l.Grant(), before)
		}
	}
	wantFence(t, LeaseStore(db), l, 1)
	errRelease, errRecover := l.Release(t.Context(), 0), leasestore.Recover(t.Context(), LeaseStore(mine), time.Hour)
	row, errLoad := LeaseStore(db).Load(t.Context(), before.WorkerID)
	if errLoad != nil || errRelease == nil && errRecover != nil && row.Token != "" || errRecover == nil && row.Fence < before.Limit+3600 {
		t.Errorf("Release %v, Recover %v, and the row is %+v: %v", errRelease, errRecover, row, errLoad)
	}
	if (errRelease == nil) != (err == nil) || (errRecover == nil) != (err == nil) {
		t.Errorf("Renew %v, Release %v, Recover %v; want all of them refused, or none", err, errRelease, errRecover)
	}
	if err != nil {
		transactionEnds(t, mine, l)
	}
}

// transactionEnds: the transaction is still the caller's, and nothing was written in it.
func transactionEnds(t *testing.T, mine *sqlx.DB, l assigner.Lease) {
	t.Helper()
	Exec(t, mine, "COMMIT")
	wantFence(t, LeaseStore(mine), l, 1)
	limit := l.Grant().Limit
	if err := errors.Join(l.Renew(t.Context(), limit, limit+100), l.Release(t.Context(), 0)); err != nil {
		t.Errorf("Renew and Release after the transaction: %v", err)
	}
}
