package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// mySQL returns the URL of a database for an administrator: functions need one where the binary log
// is on, as it is by default.
func mySQL(t *testing.T) string { return "mysql://root@" + testserver.MySQL(t).Addr() + "/uidring" }

func postgreSQL(t *testing.T) string {
	return "postgres://postgres@" + testserver.PostgreSQL(t).Addr() + "/postgres?sslmode=disable"
}

// The functions of each database agree with package bitsalloc.
func TestSchemaFunctions(t *testing.T) {
	clean(t)
	for name, open := range map[string]func(*testing.T) string{"mysql": mySQL, "mysql of MariaDB": mariaDB, "postgres": postgreSQL, "sqlite": sqlite} {
		t.Run(name, func(t *testing.T) {
			kind, _, _ := strings.Cut(name, " ")
			st, err := storeurl.Open(open(t), "orders")
			testkit.Close(t, st, err)
			for _, layout := range []bitsalloc.Layout{bitsalloc.Default(), bitsalloc.Recommended(), bitsalloc.Snowflake(), bitsalloc.JavaScript(), {DeltaBits: 31, DatacenterBits: 3, WorkerBits: 9, SequenceBits: 8, Unit: 30 * time.Second}} {
				epoch := time.Date(2010, 11, 4, 1, 42, 54, 657e6, time.UTC)
				sql := quietly(t, "schema", kind, "--functions", "--layout", layout.String(), "--epoch", epoch.Format(time.RFC3339Nano))
				call := func(name, arg string) string { return "uidring_" + name + "(" + arg + ")" }
				switch kind {
				case "sqlite":
					call = func(name, arg string) string {
						_, text, _ := strings.Cut(sql, "uidring_"+name)
						_, text, _ = strings.Cut(text, "\n")
						text, _, _ = strings.Cut(text, "\n--")
						return strings.NewReplacer("(id ", "("+arg+" ", "(t)", "("+arg+")").Replace(text)
					}
				case "mysql": // the client sends statement by statement, and so does the driver
					for statement := range strings.SplitSeq(strings.TrimSpace(sql), ";\n") {
						st.DB().MustExec(statement)
					}
				default:
					st.DB().MustExec(sql)
				}
				alloc := testgen.Allocator(t, layout, epoch)
				value := func(name, arg string) (text string) {
					t.Helper()
					query := "SELECT " + call(name, arg)
					switch {
					case name == "time" && kind == "mysql":
						query = "SELECT CAST(" + call(name, arg) + " AS CHAR)"
					case name == "time" && kind == "postgres":
						query = "SELECT to_char(" + call(name, arg) + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')"
					}
					if err := st.DB().Get(&text, query); err != nil {
						t.Fatalf("%v in %s", err, query)
					}
					return text
				}
				for _, delta := range []int64{1, 2, 59, 100_003, 200_000_001, alloc.MaxDelta() / 3, alloc.MaxDelta()} {
					id, err := alloc.Allocate(delta, alloc.MaxDatacenterID(), alloc.MaxWorkerID()-1, alloc.MaxSequence()/3)
					testkit.Must(t, err)
					f, err := alloc.Parse(id)
					testkit.Must(t, err)
					got := fmt.Sprint(value("time", fmt.Sprint(id)), " ", value("datacenter", fmt.Sprint(id)), " ", value("worker", fmt.Sprint(id)), " ", value("sequence", fmt.Sprint(id)))
					want := fmt.Sprint(f.Time.Format("2006-01-02 15:04:05.000"), " ", f.DatacenterID, " ", f.WorkerID, " ", f.Sequence)
					if got != want {
						t.Errorf("%v: ID %d: %s, want %s", layout, id, got, want)
					}
				}
				end := alloc.Expires()
				for _, at := range []time.Time{epoch, epoch.Add(-1e6), epoch.AddDate(-30, 0, 0), epoch.Add(layout.Unit), epoch.Add(layout.Unit - 1e6),
					time.Date(2026, 3, 1, 12, 0, 0, 999e6, time.UTC), end.Add(-1e6), end, end.AddDate(1, 0, 0)} {
					text := at.Format("'2006-01-02 15:04:05.000'")
					if kind == "postgres" {
						text = at.Format("'2006-01-02 15:04:05.000+00'")
					}
					if got := value("at", text); got != fmt.Sprint(alloc.MinAt(at)) {
						t.Errorf("%v: smallest ID at %s: %s, want %d", layout, text, got, alloc.MinAt(at))
					}
				}
				if kind == "postgres" {
					for text, want := range map[string]int64{"'-infinity'": 1, "'infinity'": alloc.MinAt(end), "'294276-12-31 UTC'": alloc.MinAt(end), "'4713-01-02 BC UTC'": 1} {
						if got := value("at", text); got != fmt.Sprint(want) {
							t.Errorf("%v: smallest ID at %s: %s, want %d", layout, text, got, want)
						}
					}
				}
			}
		})
	}
	if code, _, text := run(t, "", "schema", "mysql", "nodes", "--functions"); code != exitUsage || !strings.Contains(text, "--functions") {
		t.Errorf("with tables: code %d, %s", code, text)
	}
}

// The statements of docs/SQL.md run after the functions of the recommended layout.
func TestSQLPage(t *testing.T) {
	clean(t)
	page, err := os.ReadFile("../../../../docs/SQL.md")
	testkit.Must(t, err)
	blocks := strings.Split(string(page), "```sql\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of SQL, want 2", len(blocks))
	}
	for name, c := range map[string]struct {
		block int
		kind  string
		open  func(*testing.T) string
	}{"PostgreSQL": {0, "postgres", postgreSQL}, "MariaDB": {1, "mysql", mariaDB}, "MySQL": {1, "mysql", mySQL}} {
		t.Run(name, func(t *testing.T) {
			st, err := storeurl.Open(c.open(t), "orders")
			testkit.Close(t, st, err)
			block, _, _ := strings.Cut(blocks[c.block], "```")
			for statement := range strings.SplitSeq(strings.TrimSpace(quietly(t, "schema", c.kind, "--functions")+block), ";\n") {
				if !strings.Contains(statement, "SELECT d") && !strings.Contains(statement, "SELECT D") {
					st.DB().MustExec(statement)
					continue
				}
				var days []string
				if err := st.DB().Select(&days, "SELECT count(*) FROM ("+strings.ReplaceAll(statement, "ORDER BY day", "")+") AS days"); err != nil || days[0] != "2" {
					t.Errorf("%q days, %v, want 2", days, err)
				}
			}
			var left int
			if err := st.DB().Get(&left, "SELECT COUNT(*) FROM orders"); err != nil || left != 1 {
				t.Errorf("%d rows are left, %v, want 1", left, err)
			}
		})
	}
}
