package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// renamedTables has all tables under other names, of which one is a reserved word.
func renamedTables(t *testing.T, b Database) {
	cfg := sqlassigner.Config{TableName: func(name string) string {
		if name == "WORKER_NODE_PIN" {
			return "Order"
		}
		return "my_" + strings.ToLower(name)
	}}
	db, _ := b.Empty(t)
	use := map[string]func() assigner.Assigner{
		"my_worker_node":   func() assigner.Assigner { return sqlassigner.Disposable(db, cfg) },
		"my_worker_sticky": func() assigner.Assigner { return sqlassigner.Sticky(db, "orders", cfg) },
		"my_worker_lease_meta": func() assigner.Assigner {
			return assigner.Leased(sqlassigner.LeaseStore(db, namespace, cfg), assigner.LeaseConfig{FirstWorkerID: besideDisposable})
		},
	}
	for range 2 {
		if err := sqlassigner.Apply(t.Context(), db, cfg); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range use {
		l := Assign(t, a())
		if err := errors.Join(l.Renew(t.Context(), 1, l.Grant().First), l.Release(t.Context(), 1)); err != nil {
			t.Error(err)
		}
	}
	other := assignertest.Domain()
	other.Layout.DeltaBits--
	_, err := use["my_worker_node"]().Assign(t.Context(), other)
	checkText(t, err, assigner.ErrLayoutMismatch, "Order has DELTA_BITS")
	for table, a := range use {
		Exec(t, db, "DROP TABLE "+table)
		_, err := a().Assign(t.Context(), assignertest.Domain())
		checkWithin(t, err, sqlassigner.ErrTableMissing, table, "sqlassigner.Apply and the same Config.TableName")
	}
	if _, err := disposable(db).Assign(t.Context(), assignertest.Domain()); !errors.Is(err, sqlassigner.ErrTableMissing) {
		t.Errorf("Assign with the names of package schema: %v, want ErrTableMissing", err)
	}
}

// badNames lists every name that is not allowed, for Apply and the assigners.
func badNames(t *testing.T, b Database) {
	db, _ := b.Empty(t)
	names := map[string]string{"WORKER_NODE": `a" (b int); DROP TABLE x; --`, "WORKER_NODE_TOKEN": "", "WORKER_NODE_PIN": "1a",
		"WORKER_STICKY": strings.Repeat("x", 64), "WORKER_LEASE": "same", "WORKER_LEASE_META": "same"}
	cfg := sqlassigner.Config{TableName: func(name string) string { return names[name] }}
	_, err1 := sqlassigner.Disposable(db, cfg).Assign(t.Context(), assignertest.Domain())
	_, err2 := sqlassigner.Sticky(db, "orders", cfg).Assign(t.Context(), assignertest.Domain())
	_, err3 := sqlassigner.LeaseStore(db, namespace, cfg).Status(t.Context())
	for _, err := range []error{err1, err2, err3, sqlassigner.Apply(t.Context(), db, cfg)} {
		if err == nil {
			t.Error("no error, want one for each name")
			continue
		}
		for name, stored := range names {
			if want := fmt.Sprintf("%q", stored); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v; want %s for %s in it", err, want, name)
			}
		}
	}
}

// Twins creates each of some tables in an empty database, and beside our tables. texts are the
// names that the error must have.
func Twins(t *testing.T, b Database, create map[string]string) {
	for text, statement := range create {
		t.Run(text, func(t *testing.T) {
			db, _ := b.Empty(t)
			Exec(t, db, statement)
			before := countTables(t, db)
			checkText(t, sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}), sqlassigner.ErrTableTwin, text, "Config.TableName")
			if after := countTables(t, db); after != before {
				t.Errorf("Apply left %d tables beside the twin, want %d", after, before)
			}
			db, _ = b.Applied(t)
			Exec(t, db, statement)
			checkText(t, sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}), sqlassigner.ErrTableTwin, text)
			for name, use := range users() {
				_, err := TryAssign(t, use(db), 5*time.Second)
				isLease := slices.Contains([]string{"Leased", "Auto", "Fenced", "undurable Leased"}, name)
				ours := slices.Contains(twinsOf(isLease), twinIn(text))
				switch {
				case ours:
					checkWithin(t, err, sqlassigner.ErrTableTwin, text)
				case err != nil:
					t.Errorf("%s beside %s: %v", name, text, err)
				}
			}
		})
	}
}

// twinsOf are the tables of which an assigner refuses twins: its own, and the table that shows
// which worker IDs the other kind of assigner has.
func twinsOf(isLease bool) []string {
	if isLease {
		return []string{"WORKER_LEASE", "WORKER_LEASE_META", "WORKER_NODE"}
	}
	return []string{"WORKER_NODE", "WORKER_NODE_TOKEN", "WORKER_NODE_PIN", "WORKER_STICKY", "WORKER_LEASE_META"}
}

// twinIn returns the table whose twin a text names first.
func twinIn(text string) string {
	twin, _, _ := strings.Cut(text, " ")
	return strings.ToUpper(strings.TrimPrefix(twin, "."))
}

func countTables(t *testing.T, db *sqlx.DB) (n int) {
	t.Helper()
	if err := db.Get(&n, "SELECT COUNT(*) FROM information_schema.tables WHERE LOWER(table_name) LIKE 'worker%'"); err != nil {
		t.Fatal(err)
	}
	return n
}

// Unsafe makes each table undurable in turn and checks that its assigners refuse it, unless told
// otherwise. fault is the text of the fault in the error.
func Unsafe(t *testing.T, b Database, spoil func(t *testing.T, db *sqlx.DB, table string), fault func(table string) string) {
	for table, uses := range map[string][]string{
		"WORKER_NODE": {"Disposable", "Sticky"}, "WORKER_NODE_TOKEN": {"Disposable"}, "WORKER_NODE_PIN": {"Disposable"},
		"WORKER_STICKY": {"Sticky"}, "WORKER_LEASE": {"Leased"}, "WORKER_LEASE_META": {"Leased"},
	} {
		t.Run(table, func(t *testing.T) {
			db, _ := b.Applied(t)
			l := Assign(t, users()[uses[0]](db))
			spoil(t, db, table)
			for _, name := range uses {
				_, err := TryAssign(t, users()[name](db), 5*time.Second)
				checkText(t, err, assigner.ErrStoreNotDurable, fault(table), "AllowUndurable")
				Assign(t, users()["undurable "+name](db))
			}
			if err := l.Renew(t.Context(), 1, l.Grant().First); strings.Contains(table, "LEASE") {
				checkText(t, err, assigner.ErrStoreNotDurable, fault(table))
			}
		})
	}
}

// temporaryTables hides each table behind an empty temporary one, on the only connection of a
// handle, right after the tables were checked.
func temporaryTables(t *testing.T, b Database) {
	copied := "CREATE TABLE COPIED AS SELECT * FROM %s WHERE 1 = 0"
	hides := "CREATE TEMPORARY TABLE %s AS SELECT * FROM COPIED"
	if b.Hides {
		copied, hides = "CREATE TABLE COPIED LIKE %s", "CREATE TEMPORARY TABLE %s LIKE COPIED"
	}
	db, _ := b.Applied(t)
	db.SetMaxOpenConns(1)
	t.Run("ID_SEGMENT", func(t *testing.T) {
		source := sqlassigner.SegmentSource(db, sqlassigner.Config{})
		before, err := source.Advance(t.Context(), "orders", 1)
		Exec(t, db, fmt.Sprintf(copied, "ID_SEGMENT"), fmt.Sprintf(hides, "ID_SEGMENT"))
		after, errHidden := source.Advance(t.Context(), "orders", 1)
		switch {
		case b.Hides:
			checkWithin(t, errHidden, assigner.ErrStoreNotDurable, "table ID_SEGMENT is TEMPORARY")
		case err != nil || errHidden != nil || after.First != before.First+1:
			t.Errorf("ranges %+v and %+v, beside a temporary table: %v, %v", before, after, err, errHidden)
		}
		Exec(t, db, "DROP TABLE ID_SEGMENT", "DROP TABLE COPIED")
	})
	for table, uses := range map[string][]string{
		"WORKER_NODE": {"Disposable", "undurable Disposable"}, "WORKER_NODE_TOKEN": {"Disposable"}, "WORKER_NODE_PIN": {"Disposable"},
		"WORKER_STICKY": {"Sticky", "undurable Sticky"}, "WORKER_LEASE": {"Leased", "undurable Leased"}, "WORKER_LEASE_META": {"Leased"},
	} {
		t.Run(table, func(t *testing.T) {
			for _, name := range uses {
				a := users()[name](db)
				before := Assign(t, a)
				Exec(t, db, fmt.Sprintf(copied, table), fmt.Sprintf(hides, table))
				l, err := TryAssign(t, a, 5*time.Second)
				var rows int
				switch errCount := db.Get(&rows, "SELECT COUNT(*) FROM "+table); {
				case errCount != nil || rows > 0:
					t.Errorf("%s has written %d rows to the temporary table: %v", name, rows, errCount)
				case b.Hides:
					checkWithin(t, err, assigner.ErrStoreNotDurable, "table "+table+" is TEMPORARY")
				case err != nil || l.Grant().WorkerID == before.Grant().WorkerID && name != "Sticky" && name != "undurable Sticky":
					t.Errorf("%s beside a temporary table: %v, %v; want the table that it hides", name, l, err)
				}
				Exec(t, db, "DROP TABLE "+table, "DROP TABLE COPIED")
			}
		})
	}
}
