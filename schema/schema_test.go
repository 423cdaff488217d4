package schema_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/schema"
)

var dialects = map[string]func(...schema.Group) []schema.File{
	"MySQL": schema.MySQL, "SQLite": schema.SQLite, "PostgreSQL": schema.PostgreSQL,
}

func TestDialectsHaveAllFilesOfTheFolder(t *testing.T) {
	var names []string
	for _, files := range dialects {
		for _, f := range files(schema.Groups()...) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	if folder, err := filepath.Glob("*.sql"); err != nil || !slices.Equal(names, folder) {
		t.Errorf("files %q, in the folder are %q: %v", names, folder, err)
	}
}

func TestStatementsOnlyCreate(t *testing.T) {
	create := regexp.MustCompile(`^CREATE (?:TABLE IF NOT EXISTS ([A-Z_]+) \(|INDEX IF NOT EXISTS [A-Z_]+ ON ([A-Z_]+) \()`)
	// MySQL has no CREATE INDEX IF NOT EXISTS: the index comes with the table.
	index := regexp.MustCompile(`INDEX (IF NOT EXISTS )?WORKER_LEASE_EXPIRY (ON WORKER_LEASE )?\(NAMESPACE, EXPIRES_AT\)`)
	if files := schema.SQLite(); len(files) != 1 || files[0].Name != "worker_lease_sqlite.sql" {
		t.Errorf("without a group: %+v, want the file of leases", files)
	}
	var first []string
	for dialect, files := range dialects {
		var tables []string
		for _, f := range files(schema.Groups()...) {
			for _, s := range f.Statements() {
				m := create.FindStringSubmatch(s)
				if m == nil || strings.Contains(s, ";") || strings.Contains(s, "--") {
					t.Errorf("%s: statement %q", f.Name, s)
					continue
				}
				if m[1] != "" {
					tables = append(tables, m[1])
				} else if !slices.Contains(tables, m[2]) {
					t.Errorf("%s: index on %s before the table", f.Name, m[2])
				}
			}
		}
		if text := strings.Join(files(schema.Leases)[0].Statements(), ";"); !index.MatchString(text) { // which a claim reads
			t.Errorf("%s: no index on NAMESPACE and EXPIRES_AT", dialect)
		}
		if first == nil {
			first = tables
		}
		if !slices.Equal(tables, first) || len(tables) != 7 {
			t.Errorf("%s has the tables %q, another dialect %q; want seven", dialect, tables, first)
		}
	}
}

func TestStatementsDropCommentsAndSplit(t *testing.T) {
	f := schema.File{SQL: "-- a; b\n\nCREATE TABLE A ( -- c;\n    B int -- d\n);\n-- e\nCREATE TABLE C (D int)"}
	want := []string{"CREATE TABLE A (\n    B int\n)", "CREATE TABLE C (D int)"}
	if got := f.Statements(); !slices.Equal(got, want) {
		t.Errorf("statements %q, want %q", got, want)
	}
}
