package sql_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// sqlite is a backend whose databases are files. It sets no busy_timeout: package sqlassigner must
// handle concurrent writers.
func sqlite() storetest.Database {
	return storetest.Database{
		Empty: func(t *testing.T) (*sqlx.DB, string) {
			dsn := durable(filepath.Join(testserver.DiskFolder(t), "worker.db"))
			return open(t, dsn), dsn
		},
		Down: locked(open),
		Open: open,
		Numbers: "(WITH RECURSIVE c(N) AS (SELECT 0 UNION ALL SELECT N + 1 FROM c WHERE N < %d) " +
			"SELECT N FROM c) AS NUMBERS",
		Analyze: "ANALYZE",
		Explain: "EXPLAIN QUERY PLAN",
		Now:     "strftime('%Y-%m-%d %H:%M:%f', 'now')",
		Inside: func(t *testing.T, dsn string) *sqlx.DB {
			db := open(t, dsn)
			db.SetMaxOpenConns(1)
			storetest.Exec(t, db, "BEGIN")
			return db
		},
	}
}

// durable returns the DSN of a file with the setting that its journal needs, DELETE.
func durable(path string) string { return path + "?_pragma=synchronous(EXTRA)" }

// fileOf returns the path of a durable DSN.
func fileOf(dsn string) string {
	path, _, _ := strings.Cut(dsn, "?")
	return path
}

// locked keeps others from writing and, where the journal is not a write-ahead log, from reading. A
// process may have just one driver's connections to a file.
func locked(open func(t *testing.T, dsn string) *sqlx.DB) func(t *testing.T, dsn string) (unlock func()) {
	return func(t *testing.T, dsn string) (unlock func()) {
		writer := open(t, dsn)
		writer.SetMaxOpenConns(1)
		poll.Succeeds(t, "BEGIN EXCLUSIVE", func() error { // another writer may be at work
			_, err := writer.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
			return err
		})
		return func() { storetest.Exec(t, writer, "COMMIT") }
	}
}

func TestSQLite(t *testing.T) { storetest.Run(t, sqlite()) }

func TestSQLiteSegments(t *testing.T) { storetest.RunSegments(t, sqlite()) }

// writeAhead is sqlite with readers that do not wait for a writer. Its journal needs no setting
// beside the default, FULL.
func writeAhead() storetest.Database {
	b := sqlite()
	b.Empty = func(t *testing.T) (*sqlx.DB, string) {
		path := filepath.Join(testserver.DiskFolder(t), "worker.db")
		db := open(t, path)
		storetest.Exec(t, db, "PRAGMA journal_mode = WAL") // stays with the file
		return db, path
	}
	return b
}

// The application may have just one connection.
func TestSQLiteWithOneConnection(t *testing.T) {
	db, _ := sqlite().Applied(t)
	db.SetMaxOpenConns(1)
	for _, a := range []assigner.Assigner{
		sqlassigner.Disposable(db, sqlassigner.Config{}), sqlassigner.Sticky(db, "key", sqlassigner.Config{}),
		assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{FirstWorkerID: 1000}),
	} {
		l := storetest.Assign(t, a)
		if err := errors.Join(l.Renew(t.Context(), 1, 1), l.Release(t.Context(), 1)); err != nil {
			t.Error(err)
		}
	}
}

func TestBusyTimeoutOfAHandleIsLeftAsItWas(t *testing.T) {
	for _, want := range []int{0, 7, 5000} {
		db, _ := sqlite().Applied(t)
		db.SetMaxOpenConns(1)
		storetest.Exec(t, db, fmt.Sprintf("PRAGMA busy_timeout = %d", want))
		storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
		var got int
		if err := db.Get(&got, "PRAGMA busy_timeout"); err != nil || got != want {
			t.Errorf("busy_timeout %d after a start (%v), want %d", got, err, want)
		}
	}
}

func TestUndurableSQLiteIsRefusedOrWarnedAbout(t *testing.T) {
	const unlinked = " with journal_mode=delete (allowed: 3 EXTRA; 2 FULL with journal_mode WAL, TRUNCATE, PERSIST)"
	for _, tt := range []struct {
		pragmas []string
		want    []string
	}{
		{[]string{"synchronous(FULL)"}, []string{"PRAGMA synchronous=2" + unlinked}},
		{[]string{"synchronous(NORMAL)"}, []string{"PRAGMA synchronous=1" + unlinked}},
		{[]string{"synchronous(OFF)"}, []string{"PRAGMA synchronous=0" + unlinked}},
		{[]string{"journal_mode(WAL)", "synchronous(NORMAL)"}, []string{"PRAGMA synchronous=1 (allowed: 2 FULL, 3 EXTRA)"}},
		{[]string{"journal_mode(PERSIST)", "synchronous(OFF)"}, []string{"PRAGMA synchronous=0 (allowed: 2 FULL, 3 EXTRA)"}},
		{[]string{"journal_mode(MEMORY)"}, []string{"PRAGMA journal_mode=memory (allowed: DELETE, TRUNCATE, PERSIST, WAL)"}},
		{[]string{"journal_mode(OFF)", "synchronous(1)"}, []string{"PRAGMA synchronous=1 (allowed: 2 FULL, 3 EXTRA)",
			"PRAGMA journal_mode=off (allowed: DELETE, TRUNCATE, PERSIST, WAL)"}},
	} {
		t.Run(strings.Join(tt.pragmas, " "), func(t *testing.T) {
			_, dsn := sqlite().Applied(t)
			storetest.CheckUndurable(t, open(t, fileOf(dsn)+"?_pragma="+strings.Join(tt.pragmas, "&_pragma=")), tt.want...)
		})
	}
	t.Run("in memory", func(t *testing.T) {
		db := open(t, ":memory:")
		db.SetMaxOpenConns(1)
		if err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
			t.Fatal(err)
		}
		storetest.CheckUndurable(t, db, "PRAGMA journal_mode=memory (allowed: DELETE, TRUNCATE, PERSIST, WAL)")
	})
	t.Run("as the driver opens it", func(t *testing.T) {
		_, dsn := sqlite().Applied(t)
		storetest.CheckUndurable(t, open(t, fileOf(dsn)), "PRAGMA synchronous=2"+unlinked)
	})
	for _, pragma := range []string{"synchronous(EXTRA)", "journal_mode(WAL)", "journal_mode(TRUNCATE)", "journal_mode(PERSIST)"} {
		_, dsn := sqlite().Applied(t)
		storetest.Assign(t, sqlassigner.Disposable(open(t, fileOf(dsn)+"?_pragma="+pragma), sqlassigner.Config{}))
	}
}

func TestReadOnlySQLiteIsRefused(t *testing.T) {
	_, dsn := sqlite().Applied(t)
	for _, dsn := range []string{dsn + "&_pragma=query_only(1)", "file:" + dsn + "&mode=ro"} {
		db := open(t, dsn)
		for _, a := range []assigner.Assigner{
			sqlassigner.Disposable(db, sqlassigner.Config{}), sqlassigner.Sticky(db, "key", sqlassigner.Config{}),
			assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{}),
		} {
			if _, err := storetest.TryAssign(t, a, time.Minute); !errors.Is(err, sqlassigner.ErrAccessDenied) {
				t.Errorf("%s: %v, want ErrAccessDenied", dsn, err)
			}
		}
	}
}

func TestSQLiteFileInAMissingFolderIsUnreachable(t *testing.T) {
	db := open(t, durable(filepath.Join(t.TempDir(), "absent", "worker.db")))
	_, err := storetest.TryAssign(t, sqlassigner.Disposable(db, sqlassigner.Config{}), time.Minute)
	if !errors.Is(err, sqlassigner.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "check that the file and its folder exist") {
		t.Errorf("Assign: %v, want ErrUnreachable at once", err)
	}
}

func TestAssignWaitsForAWriterOfSQLite(t *testing.T) {
	db, dsn := sqlite().Applied(t)
	writer := open(t, dsn)
	writer.SetMaxOpenConns(1)
	storetest.ComesBack(t, db, func() { storetest.Exec(t, writer, "BEGIN IMMEDIATE") },
		func() { storetest.Exec(t, writer, "COMMIT") })
}

// SQLite must not give out the number of a deleted row again, even if it was the largest.
func TestSQLiteForgetsNoDeletedNumber(t *testing.T) {
	db, dsn := sqlite().Applied(t)
	l := storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	storetest.Exec(t, db, "DELETE FROM WORKER_NODE", "DELETE FROM WORKER_NODE_TOKEN")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := storetest.Assign(t, sqlassigner.Disposable(open(t, dsn), sqlassigner.Config{}))
	if again.Grant().WorkerID <= l.Grant().WorkerID {
		t.Errorf("worker %d after %d was deleted", again.Grant().WorkerID, l.Grant().WorkerID)
	}
}

// SQLite remembers the largest number of WORKER_NODE when its rows are gone.
func TestSQLiteLeasesBeginAboveDeletedNumbers(t *testing.T) {
	db, _ := sqlite().Applied(t)
	for range 3 {
		storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	}
	storetest.Exec(t, db, "DELETE FROM WORKER_NODE", "DELETE FROM WORKER_NODE_TOKEN")
	leased := func(first int64) error {
		_, err := storetest.TryAssign(t, assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{FirstWorkerID: first}), time.Minute)
		return err
	}
	if err := leased(3); !errors.Is(err, leasestore.ErrOverlap) || !strings.Contains(err.Error(), "up to 3,") {
		t.Errorf("Assign from 3 up: %v, want ErrOverlap", err)
	}
	if err := leased(4); err != nil {
		t.Errorf("Assign from 4 up: %v", err)
	}
}

// A counter that was set back does not lead to a second holder of a number whose token is still
// there.
func TestCounterThatWasSetBackIsNoticed(t *testing.T) {
	db, _ := sqlite().Applied(t)
	storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	storetest.Exec(t, db, "DELETE FROM WORKER_NODE", "DELETE FROM sqlite_sequence")
	_, err := storetest.TryAssign(t, sqlassigner.Disposable(db, sqlassigner.Config{}), 200*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "raise it above the largest ID of WORKER_NODE_TOKEN") {
		t.Errorf("Assign: %v, want advice on the counter", err)
	}
	storetest.Exec(t, db, "INSERT INTO sqlite_sequence (name, seq) VALUES ('WORKER_NODE', 1)")
	if w := storetest.Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{})).Grant().WorkerID; w != 2 {
		t.Errorf("worker %d after the counter was raised, want 2", w)
	}
}

func TestSQLiteFilesRunWithTheClient(t *testing.T) {
	client := testserver.Program(t, "sqlite3", "sqlite3")
	db, dsn := sqlite().Empty(t)
	for range 2 {
		for _, f := range schema.SQLite() {
			runClient(t, f.SQL, client, "-bail", fileOf(dsn))
		}
	}
	storetest.Assign(t, sqlassigner.Sticky(db, "key", sqlassigner.Config{}))
}

// runClient feeds a file to a database's client.
func runClient(t *testing.T, input, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "ERROR") {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
