// Package schema holds the tables from which worker IDs and ranges of IDs are taken. The SQL files
// run unchanged in the clients mysql, sqlite3 and psql, and are embedded for use from Go.
//
//	Leases    worker_lease.sql   worker IDs that are reused behind a fence: the highest delta that a holder may use or may have used
//	Nodes     worker_node.sql    disposable worker IDs; the columns of Baidu's UidGenerator, its siblings for token and pin
//	          worker_sticky.sql  worker IDs that stay with a service key
//	Segments  segment.sql        counters of package segment
//
// Each file has a sibling for SQLite (…_sqlite.sql) and for PostgreSQL (…_postgres.sql). All files
// create missing tables and indexes and never drop or change existing ones. The comments in the
// files explain the purpose of each table, its writers, and the rows that an operator may delete.
//
// Package sqlassigner applies them: sqlassigner.Leased and sqlassigner.Apply.
package schema

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.sql
var files embed.FS

// A File is one of the SQL files of this folder.
type File struct {
	Name string // such as "worker_node.sql"
	SQL  string // its whole text
}

// A Group names the tables of one purpose.
type Group string

// The groups. Each group is complete: it needs no table of another one.
const (
	Leases   Group = "leases"   // sqlassigner.Leased and sqlassigner.LeaseStore
	Nodes    Group = "nodes"    // sqlassigner.Disposable and sqlassigner.Sticky
	Segments Group = "segments" // sqlassigner.SegmentSource
)

// Groups returns all groups.
func Groups() []Group { return []Group{Leases, Nodes, Segments} }

// MySQL returns the files of some groups for MySQL and MariaDB, in the order in which to apply
// them. Without a group it returns the files of Leases.
func MySQL(groups ...Group) []File { return read("", groups) }

// SQLite is MySQL for SQLite.
func SQLite(groups ...Group) []File { return read("_sqlite", groups) }

// PostgreSQL is MySQL for PostgreSQL.
func PostgreSQL(groups ...Group) []File { return read("_postgres", groups) }

// read returns the files of one database. A new table file is added to this list.
func read(suffix string, groups []Group) (list []File) {
	if len(groups) == 0 {
		groups = []Group{Leases}
	}
	for _, table := range [...]struct {
		group Group
		name  string
	}{{Nodes, "worker_node"}, {Nodes, "worker_sticky"}, {Leases, "worker_lease"}, {Segments, "segment"}} {
		if !slices.Contains(groups, table.group) {
			continue
		}
		name := table.name + suffix + ".sql"
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
