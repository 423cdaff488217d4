package storetest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// RefusedFor checks that every assigner rejects a handle, also with AllowUndurable. db connects to
// the same tables.
func RefusedFor(t *testing.T, db, handle *sqlx.DB, parts ...string) {
	t.Helper()
	for name, use := range Kinds(handle) {
		Assign(t, Kinds(db)[name](sqlassigner.Config{})) // namespace, pin and key are there
		for _, cfg := range []sqlassigner.Config{{}, Undurable} {
			Refused(t, use(cfg), leasestore.ErrNotDurable, parts...)
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
	l := Assign(t, Leased(mine))
	before := l.Grant()
	Exec(t, mine, "BEGIN")
	err := l.Renew(t.Context(), before.Limit, before.Limit+100)
	if err != nil && l.Grant() != before {
		t.Errorf("grant %+v after a Renew that failed, want %+v", l.Grant(), before)
	}
	wantFence(t, LeaseStore(db), l, 1)
	errRelease, errRecover := l.Release(t.Context(), 0), leasestore.Recover(t.Context(), LeaseStore(mine), time.Hour)
	row, errLoad := LeaseStore(db).Load(t.Context(), before.WorkerID)
	if err == nil { // a driver or pooler has dropped the connection
		if errLoad != nil || errRelease != nil || errRecover != nil || row.Fence < before.Limit+3600 {
			t.Errorf("Release %v, Recover %v, and the row is %+v: %v", errRelease, errRecover, row, errLoad)
		}
		return
	}
	for _, err := range []error{err, errRelease, errRecover} {
		WantError(t, err, leasestore.ErrNotDurable, "inside a transaction")
	}
	Exec(t, mine, "COMMIT") // the transaction is still the caller's, and nothing was written in it
	wantFence(t, LeaseStore(mine), l, 1)
	limit := l.Grant().Limit
	if err := errors.Join(l.Renew(t.Context(), limit, limit+100), l.Release(t.Context(), 0)); err != nil {
		t.Errorf("Renew and Release after the transaction: %v", err)
	}
}

// CheckUndurable checks that a database with these faults is refused, and that AllowUndurable turns
// each into a warning.
func CheckUndurable(t *testing.T, db *sqlx.DB, faults ...string) {
	t.Helper()
	for _, a := range []assigner.Assigner{Disposable(db), Sticky(db)} {
		Refused(t, a, leasestore.ErrNotDurable, " has "+strings.Join(faults, ", ")+":", "AllowUndurable")
	}
	var log testkit.Recorder
	Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{AllowUndurable: true, Logger: log.TextLogger()}))
	status, err := LeaseStore(db).Status(t.Context())
	if err != nil || !slices.Equal(status.Faults, faults) {
		t.Errorf("faults %q, want %q: %v", status.Faults, faults, err)
	}
	Refused(t, Beside(db), leasestore.ErrNotDurable, append(faults, "AllowUndurable")...)
	Assign(t, Kinds(db)["Leased"](Undurable))
	texts := log.Read()
	if len(texts) != len(faults) {
		t.Errorf("log %q, want %d warnings", texts, len(faults))
		return
	}
	for i, fault := range faults {
		quoted := strconv.Quote(fault)
		if !strings.HasPrefix(texts[i], `level=WARN msg="sqlassigner: `) || !strings.Contains(texts[i], quoted[1:len(quoted)-1]) {
			t.Errorf("log %q, want a warning of %q", texts[i], fault)
		}
	}
}

// A Denial is a handle that no assigner gets a worker ID over: the error is Is, and its text has
// Says.
type Denial struct {
	DSN  string
	Is   error
	Says string
}

// Denied checks the errors of assigners on handles whose DSNs have a password with hunter2 in it,
// which no error shows.
func Denied(t *testing.T, open func(t *testing.T, dsn string) *sqlx.DB, denials []Denial) {
	t.Helper()
	for _, d := range denials {
		passes := errors.Is(d.Is, sqlassigner.ErrUnreachable) || errors.Is(d.Is, leasestore.ErrNotDurable)
		for _, use := range Kinds(open(t, d.DSN)) {
			if passes {
				RefusedForNow(t, use, d.Is, d.Says)
			} else {
				Refused(t, use(sqlassigner.Config{}), d.Is, d.Says)
			}
		}
	}
}
