package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/schema"
)

// The way of a renewal: lease.go of package assigner calls Status and Swap, session.go runs their
// statements on a connection, and the file of the database, such as mysql.go, looks at the server.

// LeaseStore returns the store of a namespace in the tables WORKER_LEASE and WORKER_LEASE_META, for
// [assigner.Leased], [assigner.Auto] and [assigner.Fenced]:
//
//	numbers := assigner.Leased(sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{}), assigner.LeaseConfig{})
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. Services whose
// IDs meet in one table or message use the same namespace. A name that differs from an existing
// namespace only in letter case is rejected with [leasestore.ErrOverlap].
//
// A claim also fails with [leasestore.ErrOverlap] when WORKER_NODE of the same database has given
// out a worker ID of the namespace, which has them from assigner.LeaseConfig.FirstWorkerID up,
// unless [Pin] or a Go process has stored another unit or number of bits below the delta for
// WORKER_NODE. The user therefore needs SELECT on WORKER_NODE if it exists. The store logs a
// warning once when less than a tenth of the worker IDs below FirstWorkerID is left.
//
// The handle must connect to the primary: a replica may return stale fences. Status reports unsafe
// settings as faults, and assigner.LeaseConfig.AllowUndurable decides about them: with
// Config.AllowUndurable every call returns an error. A read-only server is always an error. The
// store retries a write only if the server has certainly not applied it, as after a deadlock. Other
// errors are returned, because the write may have taken effect.
//
// Any number of goroutines may use the store at once.
func LeaseStore(db *sqlx.DB, namespace string, cfg Config) leasestore.Store {
	wrong := leasestore.CheckNamespace(namespace)
	if cfg.AllowUndurable {
		wrong = errors.Join(wrong, errors.New("sqlassigner: Config.AllowUndurable is true, allowed for LeaseStore: false; "+
			"set assigner.LeaseConfig.AllowUndurable, which decides about leases"))
	}
	return &leases{store: newStore(db, cfg, wrong, tablesOf(schema.Leases)...), namespace: namespace}
}

type leases struct {
	store     *store
	namespace string
	warned    sync.Once    // that WORKER_NODE has nearly reached the namespace
	checked   atomic.Int64 // when LoadMeta last looked for twins of the tables, in nanoseconds since 1970
}

const (
	selectRow = "SELECT " + rowColumns + " FROM WORKER_LEASE WHERE NAMESPACE = ?"
	createRow = "INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, VERSION, FENCE, OLDEST, FORMER, TOKEN, OWNER, HOLDER, SERVER_ID, EXTRA, EXPIRES_AT, SWAPS) " +
		"VALUES " + rowValues
	rowValues = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {later}, 1)"
	updateRow = "UPDATE WORKER_LEASE {key} SET VERSION = ?, FENCE = ?, OLDEST = ?, FORMER = ?, TOKEN = ?, OWNER = ?, HOLDER = ?, SERVER_ID = ?, EXTRA = ?, EXPIRES_AT = {later}, " +
		"SWAPS = SWAPS + 1" + sameRow
	sameRow = " WHERE NAMESPACE = ? AND WORKER_ID = ? AND VERSION = ? AND FENCE = ? AND TOKEN = ?"
)

// row names a row in an error text.
func (l *leases) row(workerID int64) string {
	return fmt.Sprintf("row %d of namespace %q in WORKER_LEASE", workerID, l.namespace)
}

func (l *leases) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	if err := checkRow(next); err != nil {
		return false, err
	}
	what := "change " + l.row(next.WorkerID)
	if old.Version == 0 && old.Fence == 0 && old.Token == "" {
		absent := l.store.count(0, "WORKER_LEASE {key} WHERE NAMESPACE = ? AND WORKER_ID = ?", l.namespace, next.WorkerID)
		return l.swap(ctx, what, rowTable, absent, createRow+l.store.unlessKept(rowTable), l.arguments(next, ttl)...)
	}
	if checkText("Token", old.Token, maxToken) != nil {
		return false, nil // no row has it; MySQL takes no notice of spaces at the end
	}
	same := []any{l.namespace, next.WorkerID, old.Version, old.Fence, old.Token}
	ready := l.store.count(1, "WORKER_LEASE"+sameRow, same...)
	if storecall.IsImpatient(ctx) {
		ready = l.store.count(1, "(SELECT 1 FROM WORKER_LEASE"+sameRow+"{unlocked}) AS FREE", same...)
	}
	if old.Token == next.Token { // a renewal, which has no rivals
		ready = nil
	}
	return l.swap(ctx, what, rowTable, ready, updateRow, append(l.arguments(next, ttl)[2:], same...)...)
}

// swap is a swap of the store, after which WORKER_NODE is read again.
func (l *leases) swap(ctx context.Context, what string, t table, ready probe, statement string, args ...any) (bool, error) {
	ok, err := l.store.swap(ctx, what, t, ready, statement, args...)
	if ok || err != nil { // it has written, or may have
		storecall.Note(ctx, l, "")
	}
	return ok, err
}

// arguments returns the values of createRow, which updateRow has from the third on.
func (l *leases) arguments(r leasestore.Row, ttl time.Duration) []any {
	return []any{l.namespace, r.WorkerID, r.Version, r.Fence, r.Oldest, r.Former, r.Token, r.Owner, r.Holder, r.Identity, r.Extra, ttl.Microseconds()}
}

func (l *leases) Status(ctx context.Context) (status leasestore.Status, err error) {
	err = l.store.run(ctx, "query the server", func(ctx context.Context, conn *session) (err error) {
		status, err = l.store.look(ctx, conn, l.store.group)
		return err
	})
	if err == nil {
		status.Store, status.Namespace = l.store.dialect.name+status.Store, l.namespace
	}
	return status, err
}
