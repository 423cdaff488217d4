package storetest

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// sources are the sources by table.
var sources = map[string]func(*sqlx.DB, sqlassigner.Config) segment.Source{
	"ID_SEGMENT":   sqlassigner.SegmentSource,
	"leaf_alloc":   sqlassigner.LeafSource,
	"tiny_id_info": sqlassigner.TinyIDSource,
}

// Child is for TestMain: it does not return in a process that RunSegments has started.
func Child(open func(dsn string) (*sqlx.DB, error)) {
	segmenttest.Child(func(arg string) (segment.Source, error) {
		table, dsn, _ := strings.Cut(arg, " ")
		db, err := open(dsn)
		if err != nil {
			return nil, err
		}
		return sources[table](db, sqlassigner.Config{}), nil
	})
}

// JavaTables create the tables of Leaf and TinyId with their columns.
var JavaTables = []string{
	"CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint NOT NULL DEFAULT 1, step int NOT NULL, " +
		"description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag))",
	"CREATE TABLE tiny_id_info (id bigint NOT NULL, biz_type varchar(63) NOT NULL DEFAULT '', begin_id bigint NOT NULL DEFAULT 0, " +
		"max_id bigint NOT NULL DEFAULT 0, step int DEFAULT 0, delta int NOT NULL DEFAULT 1, remainder int NOT NULL DEFAULT 0, " +
		"create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', " +
		"version bigint NOT NULL DEFAULT 0, PRIMARY KEY (id), UNIQUE (biz_type))",
}

// RunSegments runs the suite for the sources of package segment. The tables of Leaf and TinyId
// exist in MySQL and MariaDB alone.
func RunSegments(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	fixtures := map[string]segmenttest.Fixture{"ID_SEGMENT": {}}
	if db.DriverName() == "mysql" {
		Exec(t, db, JavaTables...)
		fixtures["leaf_alloc"] = segmenttest.Fixture{Create: func(t *testing.T, name string) {
			db.MustExec("INSERT INTO leaf_alloc (biz_tag, step) VALUES (?, 2000)", name)
		}}
		rows := 0
		fixtures["tiny_id_info"] = segmenttest.Fixture{Increment: 2, Create: func(t *testing.T, name string) {
			rows++
			db.MustExec("INSERT INTO tiny_id_info (id, biz_type, step, delta, remainder) VALUES (?, ?, 100000, 2, ?)", rows, name, rows%2)
		}}
	}
	for table, f := range fixtures {
		f.Open = func(t *testing.T) segment.Source { return sources[table](b.Open(t, dsn), sqlassigner.Config{}) }
		t.Run(table, func(t *testing.T) { segmenttest.Run(t, f) })
		fixtures[table] = f
	}
	t.Run("part 1 of 3", func(t *testing.T) {
		segmenttest.Run(t, segmenttest.Fixture{Increment: 3, Open: func(t *testing.T) segment.Source {
			return sqlassigner.SegmentPart(b.Open(t, dsn), 1, 3, sqlassigner.Config{})
		}})
	})
	var up func()
	down, restart := func() { up = b.Down(t, dsn) }, func() { up() }
	for table, f := range fixtures {
		t.Run("Kills of "+table, func(t *testing.T) { segmenttest.Kills(t, f, table+" "+dsn, down, restart) })
	}
}
