package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// mariaDBURL returns the URL of the database of a new MariaDB, for a user with some rights.
func mariaDBURL(t testing.TB, rights string) string {
	server := testserver.MariaDB(t)
	db, err := sqlassigner.OpenMySQL(server.DSN())
	testkit.Close(t, db, err)
	db.MustExec("CREATE USER ids@'%' IDENTIFIED BY 'sesame'")
	db.MustExec("GRANT " + rights + " ON uidring.* TO ids@'%'")
	return "mysql://ids:sesame@" + server.Addr() + "/uidring"
}

// sqliteURL returns the URL of a database in a folder that does not exist yet.
func sqliteURL(t testing.TB) string {
	return (&url.URL{Scheme: "sqlite", Path: filepath.Join(testserver.DiskFolder(t), "data", "ids.db")}).String()
}

// The functions of each database agree with package bitsalloc. The statements of docs/SQL.md run
// with the functions of the recommended layout.
func TestSchemaFunctions(t *testing.T) {
	blocks := strings.Split(testkit.ReadFile(t, "../../../../docs/SQL.md"), "```sql\n")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of SQL, want 2", len(blocks)-1)
	}
	for name, c := range map[string]struct {
		kind, page string
		open       func(testing.TB) string
	}{
		"PostgreSQL": {"postgres", blocks[1], func(t testing.TB) string { return testserver.PostgreSQL(t).DSN() }},
		"MariaDB":    {"mysql", blocks[2], func(t testing.TB) string { return mariaDBURL(t, "ALL") }},
		// Functions need an administrator where the binary log is on, as it is by default.
		"MySQL":  {"mysql", blocks[2], func(t testing.TB) string { return "mysql://root@" + testserver.MySQL(t).Addr() + "/uidring" }},
		"SQLite": {"sqlite", "", sqliteURL},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := storeurl.Open(c.open(t), "orders")
			testkit.Close(t, st, err)
			_, err = st.Create(t.Context())
			testkit.Must(t, err)
			d := &functionsOf{kind: c.kind, db: st.DB()}
			for _, layout := range []bitsalloc.Layout{
				bitsalloc.Default(), bitsalloc.Recommended(), bitsalloc.Snowflake(), bitsalloc.JavaScript(),
				{DeltaBits: 31, DatacenterBits: 3, WorkerBits: 9, SequenceBits: 8, Unit: 30 * time.Second},
			} {
				epoch := time.Date(2010, 11, 4, 1, 42, 54, 657e6, time.UTC)
				d.create(t, "--layout", layout.String(), "--epoch", epoch.Format(time.RFC3339Nano))
				alloc := testgen.Allocator(t, layout, epoch)
				d.wantFields(t, alloc)
				d.wantSmallestIDs(t, alloc)
			}
			if c.page != "" {
				d.wantPage(t, c.page)
			}
		})
	}
}

// functionsOf are the functions in a database.
type functionsOf struct {
	kind string // as schema names it
	db   *sqlx.DB
	sql  string // that schema has printed
}

// create creates the functions of a layout.
func (d *functionsOf) create(t *testing.T, flags ...string) {
	d.sql = quietly(t, append([]string{"schema", d.kind, "--functions"}, flags...)...)
	switch d.kind {
	case "postgres":
		d.db.MustExec(d.sql)
	case "mysql": // its client sends statement by statement, and so does the driver
		for statement := range strings.SplitSeq(strings.TrimSpace(d.sql), ";\n") {
			d.db.MustExec(statement)
		}
	}
}

// value calls a function. SQLite has expressions in place of functions.
func (d *functionsOf) value(t *testing.T, function, arg string) (text string) {
	t.Helper()
	call := "uidring_" + function + "(" + arg + ")"
	if d.kind == "sqlite" {
		_, call, _ = strings.Cut(d.sql, "uidring_"+function)
		_, call, _ = strings.Cut(call, "\n")
		call, _, _ = strings.Cut(call, "\n--")
		call = strings.NewReplacer("(id ", "("+arg+" ", "(t)", "("+arg+")").Replace(call)
	}
	if function == "time" {
		switch d.kind {
		case "mysql":
			call = "CAST(" + call + " AS CHAR)"
		case "postgres":
			call = "to_char(" + call + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')"
		}
	}
	if err := d.db.Get(&text, "SELECT "+call); err != nil {
		t.Fatalf("%v in SELECT %s", err, call)
	}
	return text
}

func (d *functionsOf) wantFields(t *testing.T, alloc *bitsalloc.Allocator) {
	t.Helper()
	for _, delta := range []int64{1, 2, 59, 100_003, 200_000_001, alloc.MaxDelta() / 3, alloc.MaxDelta()} {
		id, err := alloc.Allocate(delta, alloc.MaxDatacenterID(), alloc.MaxWorkerID()-1, alloc.MaxSequence()/3)
		testkit.Must(t, err)
		f, err := alloc.Parse(id)
		testkit.Must(t, err)
		for function, want := range map[string]any{
			"time": f.Time.Format("2006-01-02 15:04:05.000"), "datacenter": f.DatacenterID, "worker": f.WorkerID, "sequence": f.Sequence,
		} {
			if got := d.value(t, function, fmt.Sprint(id)); got != fmt.Sprint(want) {
				t.Errorf("%v: %s of ID %d: %s, want %v", alloc.Layout(), function, id, got, want)
			}
		}
	}
}

func (d *functionsOf) wantSmallestIDs(t *testing.T, alloc *bitsalloc.Allocator) {
	t.Helper()
	wants := make(map[string]int64) // by time
	epoch, unit, end := alloc.Epoch(), alloc.Layout().Unit, alloc.Expires()
	for _, at := range []time.Time{
		epoch, epoch.Add(-1e6), epoch.AddDate(-30, 0, 0), epoch.Add(unit), epoch.Add(unit - 1e6),
		time.Date(2026, 3, 1, 12, 0, 0, 999e6, time.UTC), end.Add(-1e6), end, end.AddDate(1, 0, 0),
	} {
		form := "'2006-01-02 15:04:05.000'"
		if d.kind == "postgres" {
			form = "'2006-01-02 15:04:05.000+00'"
		}
		wants[at.Format(form)] = alloc.MinAt(at)
	}
	if d.kind == "postgres" {
		wants["'-infinity'"], wants["'4713-01-02 BC UTC'"] = 1, 1
		wants["'infinity'"], wants["'294276-12-31 UTC'"] = alloc.MinAt(end), alloc.MinAt(end)
	}
	for at, want := range wants {
		if got := d.value(t, "at", at); got != fmt.Sprint(want) {
			t.Errorf("%v: smallest ID at %s: %s, want %d", alloc.Layout(), at, got, want)
		}
	}
}

// wantPage runs the statements of a page, which find two days and leave one row.
func (d *functionsOf) wantPage(t *testing.T, page string) {
	d.create(t)
	block, _, _ := strings.Cut(page, "```")
	for statement := range strings.SplitSeq(strings.TrimSpace(block), ";\n") {
		if !strings.Contains(statement, "SELECT d") && !strings.Contains(statement, "SELECT D") {
			d.db.MustExec(statement)
			continue
		}
		var days int
		if err := d.db.Get(&days, "SELECT count(*) FROM ("+strings.ReplaceAll(statement, "ORDER BY day", "")+") AS days"); err != nil || days != 2 {
			t.Errorf("%d days, %v, want 2", days, err)
		}
	}
	var left int
	if err := d.db.Get(&left, "SELECT COUNT(*) FROM orders"); err != nil || left != 1 {
		t.Errorf("%d rows are left, %v, want 1", left, err)
	}
}
