package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// SegmentChild runs a child process of RunSegments. Call it first in TestMain.
func SegmentChild(open func(dsn string) (*sqlx.DB, error)) {
	segmenttest.Child(func(arg string) (segment.Source, error) {
		table, dsn, _ := strings.Cut(arg, " ")
		db, err := open(dsn)
		if err != nil {
			return nil, err
		}
		return sources()[table](db, sqlassigner.Config{}), nil
	})
}

// sources are the sources of child processes, by table.
func sources() map[string]func(*sqlx.DB, sqlassigner.Config) segment.Source {
	return map[string]func(*sqlx.DB, sqlassigner.Config) segment.Source{
		"ID_SEGMENT":   sqlassigner.SegmentSource,
		"leaf_alloc":   sqlassigner.LeafSource,
		"tiny_id_info": sqlassigner.TinyIDSource,
	}
}

// javaTables create the tables of Leaf and TinyId with their columns.
var javaTables = []string{
	"CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint NOT NULL DEFAULT 1, step int NOT NULL, " +
		"description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag))",
	"CREATE TABLE tiny_id_info (id bigint NOT NULL, biz_type varchar(63) NOT NULL DEFAULT '', begin_id bigint NOT NULL DEFAULT 0, " +
		"max_id bigint NOT NULL DEFAULT 0, step int DEFAULT 0, delta int NOT NULL DEFAULT 1, remainder int NOT NULL DEFAULT 0, " +
		"create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', " +
		"version bigint NOT NULL DEFAULT 0, PRIMARY KEY (id), UNIQUE (biz_type))",
}

// java runs a statement with ? for values.
func java(t *testing.T, db *sqlx.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// RunSegments runs the suite for the sources of package segment. Leaf and TinyId have MySQL alone,
// so their tables are tested with All.
func RunSegments(t *testing.T, b Database) {
	db, dsn := b.Applied(t)
	source := func(open func(*sqlx.DB, sqlassigner.Config) segment.Source) func(*testing.T) segment.Source {
		return func(t *testing.T) segment.Source { return open(b.Open(t, dsn), sqlassigner.Config{}) }
	}
	fixtures := map[string]segmenttest.Fixture{
		"ID_SEGMENT": {Open: source(sqlassigner.SegmentSource)},
		"part 1 of 3": {Delta: 3, Open: source(func(db *sqlx.DB, cfg sqlassigner.Config) segment.Source {
			return sqlassigner.SegmentPart(db, 1, 3, cfg)
		})},
	}
	if b.All {
		for _, table := range javaTables {
			java(t, db, table)
		}
		fixtures["leaf_alloc"] = segmenttest.Fixture{Open: source(sqlassigner.LeafSource), Create: func(t *testing.T, name string) {
			java(t, db, "INSERT INTO leaf_alloc (biz_tag, step) VALUES (?, 2000)", name)
		}}
		rows := 0
		fixtures["tiny_id_info"] = segmenttest.Fixture{Open: source(sqlassigner.TinyIDSource), Delta: 2, Create: func(t *testing.T, name string) {
			rows++
			java(t, db, "INSERT INTO tiny_id_info (id, biz_type, step, delta, remainder) VALUES (?, ?, 100000, 2, ?)", rows, name, rows%2)
		}}
	}
	for name, f := range fixtures {
		t.Run(name, func(t *testing.T) { segmenttest.Run(t, f) })
	}
	var up func()
	down, restart := func() { up = b.Down(t, dsn) }, func() { up() }
	for table := range sources() {
		if f, ok := fixtures[table]; ok {
			t.Run("Kills of "+table, func(t *testing.T) { segmenttest.Kills(t, f, table+" "+dsn, down, restart) })
		}
	}
	if b.Addr != "" {
		t.Run("LostAnswers", func(t *testing.T) { lostAnswers(t, b, db, dsn) })
	}
	t.Run("Refusals", func(t *testing.T) { segmentRefusals(t, b, db, dsn) })
	if b.All {
		t.Run("DeltaOfTinyIDChanges", func(t *testing.T) { deltaChanges(t, db) })
		t.Run("JavaProcesses", func(t *testing.T) { javaProcesses(t, db) })
		t.Run("RefusalsOfJavaTables", func(t *testing.T) { javaRefusals(t, b, db) })
	}
}

// lostAnswers cuts the connection after the database has committed a range and before the source
// knows that. The source wastes that range and takes the next one.
func lostAnswers(t *testing.T, b Database, db *sqlx.DB, dsn string) {
	// This number is on the wire when a row is changed, and not before. On PostgreSQL, COMMIT ends
	// the transaction.
	const n = 0x0102030405060708
	opens, marker := sources(), strconv.FormatInt(n, 10)
	if db.DriverName() == "pgx" {
		marker = "commit\x00"
	}
	if b.All {
		java(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('lost', 1, 50)")
		java(t, db, "INSERT INTO tiny_id_info (id, biz_type, max_id, delta, remainder) VALUES (3000, 'lost', 0, 1, 0)")
	} else {
		delete(opens, "leaf_alloc")
		delete(opens, "tiny_id_info")
	}
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			proxy := faultconn.Start(t, b.Addr)
			source := open(b.Open(t, strings.Replace(dsn, b.Addr, proxy.Addr(), 1)), sqlassigner.Config{})
			cut := proxy.CutAfter(marker, nil)
			r, err := source.Advance(t.Context(), "lost", n)
			if err != nil || r.First != n+1 || r.Last != 2*n || !cut.Done() {
				t.Errorf("range %v, %v, want %d to %d, since the first range is lost; cut: %v", r, err, int64(n+1), int64(2*n), cut.Done())
			}
		})
	}
}

// deltaChanges changes the delta of a row while a source waits for the row, after it has read it.
func deltaChanges(t *testing.T, db *sqlx.DB) {
	java(t, db, "INSERT INTO tiny_id_info (id, biz_type, max_id, delta, remainder) VALUES (4000, 'changes', 0, 1, 0)")
	const waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE tiny_id_info SET max_id%'"
	tx := db.MustBegin()
	tx.MustExec("UPDATE tiny_id_info SET delta = 2, remainder = 1 WHERE biz_type = 'changes'")
	done := make(chan segment.Range, 1)
	go func() {
		r, err := sqlassigner.TinyIDSource(db, sqlassigner.Config{}).Advance(t.Context(), "changes", 10)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	poll.Until(t, "the source waits for the row", func() bool {
		var n int
		if err := db.GetContext(t.Context(), &n, waiting); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r != (segment.Range{First: 1, Last: 19, Delta: 2}) {
		t.Errorf("range %v, want 1 to 19 in steps of 2, as the row says now", r)
	}
}

// javaProcesses takes ranges with the statements of Leaf and TinyId between ranges of the sources.
func javaProcesses(t *testing.T, db *sqlx.DB) {
	java(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('mixed', 0, 50)")
	java(t, db, "INSERT INTO tiny_id_info (id, biz_type, begin_id, max_id, step, delta, remainder) VALUES (1000, 'mixed', 7, 7, 50, 2, 1)")
	leaf := func(all *idset.Set) {
		tx := db.MustBegin()
		tx.MustExec("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'mixed'")
		var next, step int64
		if err := errors.Join(tx.QueryRow("SELECT max_id, step FROM leaf_alloc WHERE biz_tag = 'mixed'").Scan(&next, &step), tx.Commit()); err != nil {
			t.Fatal(err)
		}
		for id := next - step; id < next; id++ {
			all.Once(t, id)
		}
	}
	tinyID := func(all *idset.Set) {
		var last, version int64
		if err := db.QueryRow("SELECT max_id, version FROM tiny_id_info WHERE biz_type = 'mixed'").Scan(&last, &version); err != nil {
			t.Fatal(err)
		}
		java(t, db, "UPDATE tiny_id_info SET max_id = ?, version = version + 1 WHERE id = 1000 AND max_id = ? AND version = ? AND biz_type = 'mixed'",
			last+50, last, version)
		for id := last + 1; id <= last+50; id++ {
			if id%2 == 1 {
				all.Once(t, id)
			}
		}
	}
	for name, tt := range map[string]struct {
		source segment.Source
		java   func(*idset.Set)
		end    string
		last   int64
	}{
		"Leaf":   {sqlassigner.LeafSource(db, sqlassigner.Config{}), leaf, "SELECT max_id - 1 FROM leaf_alloc WHERE biz_tag = 'mixed'", 1750},
		"TinyId": {sqlassigner.TinyIDSource(db, sqlassigner.Config{}), tinyID, "SELECT max_id FROM tiny_id_info WHERE biz_type = 'mixed'", 3007},
	} {
		t.Run(name, func(t *testing.T) {
			var all idset.Set
			for range 10 {
				r, err := tt.source.Advance(t.Context(), "mixed", 125)
				if err != nil {
					t.Fatal(err)
				}
				for id := r.First; id <= r.Last; id += r.Delta {
					all.Once(t, id)
				}
				tt.java(&all)
			}
			var last int64
			if err := db.QueryRow(tt.end).Scan(&last); err != nil || last != tt.last {
				t.Errorf("the last number is %d, %v, want %d", last, err, tt.last)
			}
		})
	}
	if n := 0; db.Get(&n, "SELECT version FROM tiny_id_info WHERE biz_type = 'mixed'") != nil || n != 20 {
		t.Errorf("version %d, want 20: one for each range", n)
	}
}

// A refusal is a call of a source, and its error.
type refusal struct {
	source  segment.Source
	counter string
	want    error
	text    string
}

func checkRefusals(t *testing.T, refusals map[string]refusal) {
	t.Helper()
	for name, tt := range refusals {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, err := tt.source.Advance(ctx, tt.counter, 1)
		cancel()
		if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) || !strings.Contains(fmt.Sprint(err), tt.text) {
			t.Errorf("%s: range %v, error %v, want %v with %q", name, r, err, tt.want, tt.text)
		}
	}
}

// segmentRefusals checks the errors of sources, and that no refused call has moved a counter.
func segmentRefusals(t *testing.T, b Database, db *sqlx.DB, dsn string) {
	cfg := sqlassigner.Config{}
	part := sqlassigner.SegmentPart(db, 1, 2, cfg)
	if r, err := part.Advance(t.Context(), "shared", 1); err != nil || r.First != 1 {
		t.Fatal(r, err)
	}
	empty, _ := b.Empty(t)
	checkRefusals(t, map[string]refusal{
		"another part":       {sqlassigner.SegmentPart(db, 0, 2, cfg), "shared", segment.ErrInvalidRange, "has DELTA 2 and REMAINDER 1, here 2 and 0"},
		"no parts":           {sqlassigner.SegmentSource(db, cfg), "shared", segment.ErrInvalidRange, "has DELTA 2 and REMAINDER 1, here 1 and 0"},
		"part out of bounds": {sqlassigner.SegmentPart(db, 2, 2, cfg), "shared", nil, "part 2 of 2, allowed: 0 to parts - 1"},
		"name":               {sqlassigner.SegmentSource(db, cfg), "a b", nil, `"a b", allowed: 1 to 64 of the characters`},
		"nil handle":         {sqlassigner.SegmentSource(nil, cfg), "a", nil, "no database handle"},
		"no table":           {sqlassigner.SegmentSource(empty, cfg), "a", sqlassigner.ErrTableMissing, "uidring schema "},
		"open transaction":   {sqlassigner.SegmentSource(b.Inside(t, dsn), cfg), "a", assigner.ErrStoreNotDurable, "inside a transaction"},
	})
	if r, err := part.Advance(t.Context(), "shared", 1); err != nil || r.First != 3 {
		t.Errorf("range %v, %v, want 3: a call that was refused has moved the counter", r, err)
	}
}

func javaRefusals(t *testing.T, b Database, db *sqlx.DB) {
	cfg := sqlassigner.Config{}
	java(t, db, "INSERT INTO tiny_id_info (id, biz_type, delta, remainder) VALUES (2000, 'wrong', 2, 2)")
	java(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('lowest', ?, 50)", int64(math.MinInt64))
	empty, _ := b.Empty(t)
	checkRefusals(t, map[string]refusal{
		"no row of Leaf":      {sqlassigner.LeafSource(db, cfg), "absent", sqlassigner.ErrNoCounter, `leaf_alloc has no row with biz_tag "absent"`},
		"no row of TinyId":    {sqlassigner.TinyIDSource(db, cfg), "absent", sqlassigner.ErrNoCounter, `tiny_id_info has no row with biz_type "absent"`},
		"no table of Leaf":    {sqlassigner.LeafSource(empty, cfg), "a", sqlassigner.ErrTableMissing, "use the database of the Java service"},
		"no table of TinyId":  {sqlassigner.TinyIDSource(empty, cfg), "a", sqlassigner.ErrTableMissing, "use the database of the Java service"},
		"lowest of Leaf":      {sqlassigner.LeafSource(db, cfg), "lowest", segment.ErrInvalidRange, "max_id -9223372036854775808 (allowed:"},
		"remainder of TinyId": {sqlassigner.TinyIDSource(db, cfg), "wrong", segment.ErrInvalidRange, "remainder 2 (allowed:"},
	})
}
