package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/disk"
)

// A sqliteFile records the path and the identity of the first database file that a store has used.
// Any number of goroutines may use it at once.
//
// SQLite keeps writing to a file that was renamed or deleted under an open connection; it only
// notices when it starts a new journal. A connection that is opened later writes to the new file at
// the same path. So each check compares path and identity with the first check. The first check
// also requires that this process has the file open, to detect a file that was replaced after the
// connection was opened.
type sqliteFile struct{ first atomic.Pointer[sqlitePlace] }

// A sqlitePlace is a path and the identity of the file there.
type sqlitePlace struct{ path, identity string }

// look sets the identity of a database, and adds the faults of its file. A database in memory has
// no identity; its journal is a fault already.
func (f *sqliteFile) look(ctx context.Context, conn *sqlx.Conn, status *leasestore.Status) error {
	path, err := sqlitePath(ctx, conn)
	if err != nil {
		return err
	}
	if path == "" {
		return nil
	}
	now := sqlitePlace{path: path}
	now.identity, err = disk.Identity(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return moved(path, "it is gone")
	case err != nil:
		return err
	}
	if err := f.check(now); err != nil {
		return err
	}
	faults, err := disk.Faults(path, "the file "+path)
	paths, errPaths := disk.PathFaults(path, "the file "+path)
	status.Identity, status.Faults = now.identity, slices.Concat(status.Faults, faults, paths)
	return errors.Join(err, errPaths)
}

// check returns an error for a file other than the first one.
func (f *sqliteFile) check(now sqlitePlace) error {
	first := f.first.Load()
	if first == nil {
		open, err := disk.IsOpen(now.path)
		switch {
		case err != nil:
			return err
		case !open:
			return moved(now.path, "the open file is another one")
		}
		f.first.CompareAndSwap(nil, &now)
		first = f.first.Load()
	}
	if *first != now {
		return moved(first.path, "a connection leads to another file, "+now.path)
	}
	return nil
}

// moved returns the error for a file that is not the first one.
func moved(path, found string) error {
	return final("%w: the file %s was moved, replaced or deleted while it was open, %s; put it back, or end the process and "+
		"start it again where this is the right store: two stores, and two copies of one, hand out the same worker IDs",
		leasestore.ErrDamaged, path, found)
}

// sqlitePath returns the absolute path of the database of a connection, or "" where it has no file.
func sqlitePath(ctx context.Context, conn *sqlx.Conn) (path string, err error) {
	var number int
	var name string
	var file sql.NullString
	// The first row is main. The pragma in a SELECT would read the file, which may have moved.
	err = conn.QueryRowxContext(ctx, "PRAGMA database_list").Scan(&number, &name, &file)
	return file.String, err
}

// sqliteWait is the least time in milliseconds that a statement waits for a lock; the busy_timeout
// of the handle may be longer.
const sqliteWait = 250

// sqliteWaiting makes the statements of f wait for a lock. A commit that waits keeps new readers
// out. A commit that fails at once and is retried later might find a reader each time.
func sqliteWaiting(f func(context.Context, *sqlx.Conn) error) func(context.Context, *sqlx.Conn) error {
	return func(ctx context.Context, conn *sqlx.Conn) (err error) {
		var given int64
		if err := conn.QueryRowxContext(ctx, "PRAGMA busy_timeout").Scan(&given); err != nil {
			return err
		}
		set := func(ms int64) error {
			_, err := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout = %d", ms))
			return err
		}
		if given < sqliteWait {
			if err := set(sqliteWait); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, set(given)) }() // the connection is the caller's
		}
		return f(ctx, conn)
	}
}
