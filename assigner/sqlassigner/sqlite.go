package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/disk"
	"github.com/uidring/uidring/schema"
)

func sqliteDialect() dialect {
	return dialect{
		name:       "SQLite",
		client:     "uidring schema sqlite %s | sqlite3 your.db",
		files:      schema.SQLite,
		quote:      `"`,
		schema:     "main",
		relations:  "SELECT 'main', name, 1, 1 FROM main.sqlite_master WHERE type = 'table' AND LOWER(name) IN (?)",
		onConflict: true,
		returning:  true,
		times: strings.NewReplacer("{key}", "", "{unlocked}", "", "{folded}", "LOWER(RTRIM(NAMESPACE))", "{now}", "CURRENT_TIMESTAMP",
			"{today}", "date('now')", "{utc}", "strftime('%Y-%m-%d %H:%M:%f', 'now')",
			// Its times have milliseconds, its Julian days all digits that these need.
			"{later}", "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', ? / 1000000.0))",
			"{expires}", "CAST(ROUND((julianday(EXPIRES_AT) - 2440587.5) * 86400000) AS integer) * 1000"),
		diagnose: diagnoseSQLite,
		look:     new(sqliteFile).look,
		idle:     sqliteIdle,
		waiting:  sqliteWaiting,
	}
}

// sqliteIdle begins a transaction, which fails inside another one, and ends it. That takes no lock.
// It ignores the end of the context, which could leave the connection inside the transaction.
func sqliteIdle(ctx context.Context, conn *session, _ []table) error {
	ctx = context.WithoutCancel(ctx)
	_, err := conn.ExecContext(ctx, "BEGIN DEFERRED")
	switch {
	case err != nil && strings.Contains(err.Error(), "within a transaction"):
		return openTransaction()
	case err != nil:
		return err
	}
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// sqliteErrors has result codes for drivers that provide them as a method, and SQLite's own texts,
// which are the same in all drivers. The first entry that fits counts.
var sqliteErrors = []struct {
	code int // without the bits above that tell variants apart, unless it has some; 0: none
	text string
	diagnosis
}{
	{1032, "", replaced}, // SQLITE_READONLY_DBMOVED
	{5, "database is locked", collision},
	{6, "table is locked", collision},
	{8, "readonly database", unwritable},
	{3, "access permission denied", unwritable},
	{23, "not authorized", unwritable},
	{13, "database or disk is full", diagnosis{passes: true, advice: "make room on the disk, or raise PRAGMA max_page_count"}},
	{14, "unable to open database file", diagnosis{sentinel: ErrUnreachable, advice: "check that the file and its folder exist and are writable"}},
	{0, "no such table", noTable},
	{0, "no such column", altered},
	{0, "UNIQUE constraint failed", duplicate},
	{0, "ON CONFLICT clause does not match", keyMissing},
}

var unwritable = diagnosis{sentinel: ErrAccessDenied, advice: "make the file and its folder writable"}

func diagnoseSQLite(err error) diagnosis {
	// A file has no network, and all errors of ncruces/go-sqlite3 look like errors of one.
	if d, known := diagnoseAny(err); known && d.sentinel != ErrUnreachable {
		return d
	}
	code, text := -1, err.Error()
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		code = e.Code()
	}
	for _, e := range sqliteErrors {
		if e.code > 0 && (e.code == code || e.code == code&0xff) || e.text != "" && strings.Contains(text, e.text) {
			return e.diagnosis
		}
	}
	return diagnosis{}
}

// sqliteClock selects microseconds since 1970.
const sqliteClock = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS integer) * 1000"

// sqliteLook sets the clock, and the faults in the settings.
func sqliteLook(ctx context.Context, conn *session, status *leasestore.Status) error {
	var synchronous, queryOnly int
	var journal string
	for _, pragma := range [...]struct {
		name  string
		value any
	}{{"query_only", &queryOnly}, {"synchronous", &synchronous}, {"journal_mode", &journal}} {
		if err := conn.QueryRowxContext(ctx, "PRAGMA "+pragma.name).Scan(pragma.value); err != nil {
			return err
		}
	}
	if queryOnly != 0 {
		return final("%w: cannot take a worker ID: PRAGMA query_only is on", ErrAccessDenied)
	}
	status.Faults = sqliteSettings(synchronous, strings.ToLower(journal))
	var clock int64
	err := conn.QueryRowxContext(ctx, "SELECT "+sqliteClock).Scan(&clock)
	status.Now = time.UnixMicro(clock).UTC()
	return err
}

// sqliteSettings returns the faults in the settings of SQLite. With DELETE a commit removes the
// journal, and only EXTRA syncs the folder after that: if a power cut restores the journal, the
// last commit is undone.
func sqliteSettings(synchronous int, journal string) (faults []string) {
	const full, extra = 2, 3
	const dsn = "such as file:ids.db?_pragma=synchronous(EXTRA), with mattn/go-sqlite3 file:ids.db?_synchronous=EXTRA)"
	switch {
	case journal == "delete" && synchronous < extra:
		faults = append(faults, fmt.Sprintf("PRAGMA synchronous=%d with journal_mode=delete (allowed: 3 EXTRA; 2 FULL with "+
			"journal_mode WAL, TRUNCATE, PERSIST; "+dsn, synchronous))
	case synchronous < full:
		faults = append(faults, fmt.Sprintf("PRAGMA synchronous=%d (allowed: 2 FULL, 3 EXTRA; "+dsn, synchronous))
	}
	if journal == "memory" || journal == "off" {
		faults = append(faults, "PRAGMA journal_mode="+journal+" (allowed: DELETE, TRUNCATE, PERSIST, WAL)")
	}
	return faults
}

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

// look also sets the identity of a database, names its file, and adds the faults of the file. A
// database in memory has no identity; its journal is a fault already.
func (f *sqliteFile) look(ctx context.Context, conn *session, _ []table, status *leasestore.Status) error {
	if err := sqliteLook(ctx, conn, status); err != nil {
		return err
	}
	var number int
	var name string
	var file sql.NullString // NULL: in memory
	// The first row is main. The pragma in a SELECT would read the file, which may have moved.
	err := conn.QueryRowxContext(ctx, "PRAGMA database_list").Scan(&number, &name, &file)
	path := file.String
	if err != nil || path == "" {
		return err
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
	status.Store, status.Identity, status.Faults = " at "+path, now.identity, slices.Concat(status.Faults, faults, paths)
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

// sqliteWait is the least time in milliseconds that a statement waits for a lock; the busy_timeout
// of the handle may be longer.
const sqliteWait = 250

// sqliteWaiting makes the statements of f wait for a lock. A commit that waits keeps new readers
// out. A commit that fails at once and is retried later might find a reader each time.
func sqliteWaiting(f func(context.Context, *session) error) func(context.Context, *session) error {
	return func(ctx context.Context, conn *session) (err error) {
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
