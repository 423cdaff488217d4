package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// ownTables are the tables that an assigner writes to.
func ownTables() map[string][]string {
	return map[string][]string{
		"Disposable": {"WORKER_NODE", "WORKER_NODE_TOKEN", "WORKER_NODE_PIN"}, "Sticky": {"WORKER_NODE", "WORKER_STICKY"},
		"Leased": {"WORKER_LEASE", "WORKER_LEASE_META"},
	}
}

// Twins creates each of some tables in an empty database, and beside our tables. texts are the
// names that the error must have.
func Twins(t *testing.T, b Database, create map[string]string) {
	for text, statement := range create {
		t.Run(text, func(t *testing.T) {
			db, _ := b.Empty(t)
			Exec(t, db, statement)
			const tables = "SELECT COUNT(*) FROM information_schema.tables WHERE LOWER(table_name) LIKE 'worker%'"
			before := Get[int](t, db, tables)
			_, err := TryApply(t, db, sqlassigner.Config{})
			WantError(t, err, sqlassigner.ErrTableTwin, text, "Config.LowerCase")
			if after := Get[int](t, db, tables); after != before {
				t.Errorf("Apply left %d tables beside the twin, want %d", after, before)
			}
			db, _ = b.Applied(t)
			Exec(t, db, statement)
			_, err = sqlassigner.Apply(t.Context(), db, sqlassigner.Config{})
			WantError(t, err, sqlassigner.ErrTableTwin, text)
			twin, _, _ := strings.Cut(text, " ")
			twin = strings.ToUpper(strings.TrimPrefix(twin, "."))
			for name, use := range Kinds(db) {
				// Twins of its own tables, and of the table that shows which worker IDs the other
				// kind of assigner has.
				looks := []string{"WORKER_NODE", "WORKER_NODE_PIN", "WORKER_LEASE_META"}
				if name == "Leased" || name == "Fenced" {
					looks = []string{"WORKER_NODE", "WORKER_LEASE_META"}
				}
				_, err := TryAssign(t, use(sqlassigner.Config{}), time.Minute)
				if slices.Contains(looks, twin) {
					WantError(t, err, sqlassigner.ErrTableTwin, text)
				} else if err != nil {
					t.Errorf("%s beside %s: %v", name, text, err)
				}
			}
		})
	}
}

// Unsafe makes each table undurable in turn and checks that its assigners refuse it, unless told
// otherwise. fault is the text of the fault in the error.
func Unsafe(t *testing.T, b Database, spoil func(t *testing.T, db *sqlx.DB, table string), fault func(table string) string) {
	for name, tables := range ownTables() {
		for _, table := range tables {
			t.Run(name+" "+table, func(t *testing.T) {
				db, _ := b.Applied(t)
				use := Kinds(db)[name]
				l := Assign(t, use(sqlassigner.Config{}))
				spoil(t, db, table)
				Refused(t, use(sqlassigner.Config{}), leasestore.ErrNotDurable, fault(table), "AllowUndurable")
				Assign(t, use(Undurable))
				if err := Extend(t.Context(), l, 1, l.Grant().First); name == "Leased" {
					WantError(t, err, leasestore.ErrNotDurable, fault(table))
				}
			})
		}
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
	take := func(name string, cfg sqlassigner.Config) (int64, error) {
		if name == "SegmentSource" {
			r, err := sqlassigner.SegmentSource(db, cfg).Advance(t.Context(), "orders", 1)
			return r.First, err
		}
		l, err := TryAssign(t, Kinds(db)[name](cfg), 5*time.Second)
		if err != nil {
			return 0, err
		}
		return l.Grant().WorkerID, nil
	}
	all := ownTables()
	all["SegmentSource"] = []string{"ID_SEGMENT"}
	for name, tables := range all {
		for _, table := range tables {
			for _, cfg := range []sqlassigner.Config{{}, Undurable} {
				t.Run(name+" "+table, func(t *testing.T) {
					before, errBefore := take(name, cfg)
					Exec(t, db, fmt.Sprintf(copied, table), fmt.Sprintf(hides, table))
					after, err := take(name, cfg)
					if rows := Get[int](t, db, "SELECT COUNT(*) FROM "+table); rows > 0 {
						t.Errorf("%d rows in the temporary table", rows)
					}
					switch {
					case b.Hides:
						WantError(t, err, leasestore.ErrNotDurable, "table "+table+" is TEMPORARY")
					case errBefore != nil || err != nil || (after == before) != (name == "Sticky"):
						t.Errorf("%d, %v, and beside a temporary table %d, %v; want the table that it hides", before, errBefore, after, err)
					}
					Exec(t, db, "DROP TABLE "+table, "DROP TABLE COPIED")
				})
			}
		}
	}
}
