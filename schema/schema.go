// Package schema holds the tables from which worker IDs and ranges of IDs are taken. The SQL files
// run unchanged in the clients mysql, sqlite3 and psql, and are embedded for use from Go.
//
//	worker_node.sql    disposable worker IDs; the columns of Baidu's UidGenerator, its siblings for token and pin
//	worker_sticky.sql  worker IDs that stay with a service key
//	worker_lease.sql   worker IDs that are reused behind a fence: the highest delta that a holder was ever allowed to use
//	segment.sql        counters of package segment
//
// Each file has a sibling for SQLite (…_sqlite.sql) and for PostgreSQL (…_postgres.sql). All files
// create missing tables and indexes and never drop or change existing ones. The comments in the
// files explain the purpose of each table, its writers, and the rows that an operator may delete.
//
// Package sqlassigner applies them: sqlassigner.Apply.
package schema

import (
	"embed"
	"strings"
)

//go:embed *.sql
var files embed.FS

// A File is one of the SQL files of this folder.
type File struct {
	Name string // such as "worker_node.sql"
	SQL  string // its whole text
}

// MySQL returns the files for MySQL and MariaDB, in the order in which to apply them.
func MySQL() []File { return read("") }

// SQLite returns the files for SQLite, in the order in which to apply them.
func SQLite() []File { return read("_sqlite") }

// PostgreSQL returns the files for PostgreSQL, in the order in which to apply them.
func PostgreSQL() []File { return read("_postgres") }

// read returns the files of one database. A new table file is added to this list.
func read(suffix string) []File {
	var list []File
	for _, table := range [...]string{"worker_node", "worker_sticky", "worker_lease", "segment"} {
		name := table + suffix + ".sql"
		text, err := files.ReadFile(name)
		if err != nil {
			panic("bug: schema: " + err.Error())
		}
		list = append(list, File{name, string(text)})
	}
	return list
}

// Statements returns the statements of the file, without comments, for drivers that take one
// statement at a time.
func (f File) Statements() []string {
	var code strings.Builder
	for line := range strings.Lines(f.SQL) {
		line, _, _ = strings.Cut(line, "--")
		code.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	var list []string
	for statement := range strings.SplitSeq(code.String(), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			list = append(list, statement)
		}
	}
	return list
}
