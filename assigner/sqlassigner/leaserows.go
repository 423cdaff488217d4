package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
)

func (l *leases) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	return ask(ctx, l.store, "read "+l.row(workerID), func(ctx context.Context, conn *session) (leasestore.Row, error) {
		if l.store.dialect.showsEarly {
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
	return l.rows(ctx, selectRow+everyRow, l.namespace)
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
	if !l.store.dialect.onConflict { // unlike INSERT IGNORE, this hides no other errors
		statement += " ON DUPLICATE KEY UPDATE VERSION = VERSION"
	}
	what := fmt.Sprintf("create %d rows of namespace %q in WORKER_LEASE", len(rows), l.namespace)
	_, err := l.swap(ctx, what, rowTable, nil, statement, args...)
	return err == nil, err
}
