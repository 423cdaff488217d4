package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/schema"
)

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

func (l *leases) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	return ask(ctx, l.store, "read "+l.row(workerID), func(ctx context.Context, conn *session) (leasestore.Row, error) {
		if !l.store.dialect.conflict {
			return l.readDurable(ctx, conn, workerID)
		}
		return l.read(ctx, conn, workerID)
	})
}

// read returns the zero row when there is none.
func (l *leases) read(ctx context.Context, conn *session, workerID int64) (leasestore.Row, error) {
	row, err := scanRow(conn.QueryRowxContext(ctx, l.store.sql(selectRow+" AND WORKER_ID = ?"), l.namespace, workerID))
	if errors.Is(err, sql.ErrNoRows) {
		return leasestore.Row{}, nil
	}
	return row, err
}

// readDurable returns a row that is on disk. Some databases show a commit before it is on disk, so
// a row that was only read may be gone after a crash. readDurable therefore increments SWAPS if the
// row still has the values it has read, and otherwise reads again: the acknowledged write proves
// that all earlier commits are on disk, too. The write waits for an uncommitted change of the row.
// A missing row is returned at once: a swap that may be creating it belongs to a claim that was
// given up or has no answer yet.
func (l *leases) readDurable(ctx context.Context, conn *session, workerID int64) (leasestore.Row, error) {
	for {
		row, err := l.read(ctx, conn, workerID)
		if err != nil || row == (leasestore.Row{}) {
			return row, err
		}
		changed, err := l.store.exec(ctx, conn, "UPDATE WORKER_LEASE {key} SET SWAPS = SWAPS + 1"+sameRow,
			l.namespace, workerID, row.Version, row.Fence, row.Token)
		if err != nil || changed == 1 {
			return row, err
		}
	}
}

func (l *leases) List(ctx context.Context) ([]leasestore.Row, error) {
	return l.rows(ctx, selectRow, l.namespace)
}

func (l *leases) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	return l.rows(ctx, selectRow+" AND EXPIRES_AT <= {utc} ORDER BY EXPIRES_AT LIMIT ?", l.namespace, n)
}

func (l *leases) rows(ctx context.Context, query string, args ...any) ([]leasestore.Row, error) {
	what := fmt.Sprintf("list namespace %q in WORKER_LEASE", l.namespace)
	return ask(ctx, l.store, what, func(ctx context.Context, conn *session) (rows []leasestore.Row, err error) {
		err = each(ctx, conn, l.store.sql(query), args, func(result *sqlx.Rows) error {
			row, err := scanRow(result)
			rows = append(rows, row)
			return err
		})
		return rows, err
	})
}

// rowColumns are the columns that scanRow reads.
const rowColumns = "WORKER_ID, VERSION, FENCE, OLDEST, FORMER, TOKEN, OWNER, HOLDER, SERVER_ID, EXTRA, {expires}"

func scanRow(result interface{ Scan(...any) error }) (r leasestore.Row, err error) {
	var expires int64
	err = result.Scan(&r.WorkerID, &r.Version, &r.Fence, &r.Oldest, &r.Former, &r.Token, &r.Owner, &r.Holder, &r.Identity, &r.Extra, &expires)
	r.Expires = time.UnixMicro(expires).UTC()
	return r, err
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
		status.Store, status.Namespace = l.store.dialect.name, l.namespace
	}
	return status, err
}

// CreateFree creates the missing rows in one statement and one commit.
func (l *leases) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) (bool, error) {
	var errs []error
	var args []any
	for _, r := range rows {
		errs = append(errs, checkRow(r))
		args = append(args, l.arguments(r, ttl)...)
	}
	if err := errors.Join(errs...); err != nil || len(rows) == 0 {
		return err == nil, err
	}
	statement := createRow + strings.Repeat(", "+rowValues, len(rows)-1) + l.store.unlessKept(rowTable)
	if !l.store.dialect.conflict { // unlike INSERT IGNORE, this hides no other errors
		statement += " ON DUPLICATE KEY UPDATE VERSION = VERSION"
	}
	what := fmt.Sprintf("create %d rows of namespace %q in WORKER_LEASE", len(rows), l.namespace)
	_, err := l.swap(ctx, what, rowTable, nil, statement, args...)
	return err == nil, err
}
