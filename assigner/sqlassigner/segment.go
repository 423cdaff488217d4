package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
)

// SegmentSource returns a source for package segment that keeps its counters in the table
// ID_SEGMENT:
//
//	orders, err := segment.New(segment.Config{Name: "orders", Source: sqlassigner.SegmentSource(db, sqlassigner.Config{})})
//
// The name of a counter has 1 to 64 characters: letters, digits, dot, underscore and hyphen; A and
// a are two counters. Each call checks the database like [Disposable], with Config.AllowUndurable,
// and the disk of a SQLite file like [LeaseStore]. It retries after an error that passes until its
// context ends, and may then waste a range. The handle must connect to the primary.
//
// Any number of goroutines may use the source at once.
func SegmentSource(db *sqlx.DB, cfg Config) segment.Source { return SegmentPart(db, 0, 1, cfg) }

// SegmentPart is [SegmentSource] for a counter that several databases share: the source issues the
// IDs that leave the remainder part when divided by parts. part is 0 to parts - 1, parts 1 to 64.
//
//	odd, even := sqlassigner.SegmentPart(db1, 1, 2, cfg), sqlassigner.SegmentPart(db2, 0, 2, cfg)
//	orders, err := segment.New(segment.Config{Name: "orders", Source: odd, Others: []segment.Source{even}})
//
// Each database records both numbers with the counter. Later calls with other numbers return
// [segment.ErrInvalidRange]: they would repeat IDs of another database.
func SegmentPart(db *sqlx.DB, part, parts int, cfg Config) segment.Source {
	const most = 64
	var wrong error
	if parts < 1 || parts > most || part < 0 || part >= parts {
		wrong = fmt.Errorf("sqlassigner: part %d of %d, allowed: 0 to parts - 1, and 1 to %d parts", part, parts, most)
	}
	return &counters{
		store: newStore(db, cfg, wrong, segmentTable), table: segmentTable,
		name: "NAME", number: "NEXT_ID", delta: "DELTA", remainder: "REMAINDER",
		part: int64(part), parts: int64(parts),
	}
}

// counters is a source whose counters are the rows of a table.
type counters struct {
	store *store
	table table
	// The columns: the name of a counter, the next number or the last number given out, and delta
	// and remainder of the IDs. The last two may be numbers.
	name, number, delta, remainder string
	also                           string // columns that a change of a row sets, too
	last                           int64  // 1: the row has the last number
	part, parts                    int64  // remainder and delta of all rows; 0 parts: rows are created as for Java
}

// mostRefusals is the number of writes without effect that end a call if each read shows the row as
// it was: the reads then meet another row than the writes.
const mostRefusals = 3

// Advance implements segment.Source. Repeating a call that may have taken effect wastes a range,
// and repeats no ID.
func (c *counters) Advance(ctx context.Context, name string, n int64) (r segment.Range, err error) {
	if err := leasestore.CheckNamespace(name); c.parts > 0 && err != nil {
		return r, fmt.Errorf("sqlassigner: counter: %w", err)
	}
	if n < 1 {
		return r, fmt.Errorf("sqlassigner: %d IDs of counter %q, allowed: 1 or more", n, name)
	}
	err = c.store.run(ctx, fmt.Sprintf("advance counter %q in %s", name, c.table.name), func(ctx context.Context, conn *session) (err error) {
		err = c.checkStore(ctx, conn)
		for done, same := false, 0; !done && err == nil; {
			before := r
			if r, done, err = c.advance(ctx, conn, name, n); r != before {
				same = 0
			} else if same++; same == mostRefusals && err == nil {
				err = final("sqlassigner: the row of counter %q in %s stays as it is after %d writes: connect to the primary without a proxy "+
					"that sends reads elsewhere, and let no rule, trigger or policy keep the user from the row", name, c.table.name, same)
			}
		}
		return err
	})
	if err != nil {
		return segment.Range{}, err
	}
	return r, nil
}

// checkStore checks that the database keeps commits and has one table of the name.
func (c *counters) checkStore(ctx context.Context, conn *session) error {
	group := []table{c.table}
	if err := c.store.checkDurable(ctx, conn, group, "ranges"); err != nil {
		return err
	}
	if c.parts > 0 { // the names of Leaf and TinyId are theirs
		if _, err := c.store.checkTables(ctx, conn, group); err != nil {
			return err
		}
	}
	return c.store.checkPermanent(ctx, conn, c.table)
}

// advance moves the number of a row, and reports false when the row has changed meanwhile.
func (c *counters) advance(ctx context.Context, conn *session, name string, n int64) (r segment.Range, ok bool, err error) {
	var number, delta, remainder int64
	load := fmt.Sprintf("SELECT %s, %s, %s FROM %s WHERE %s = ?", c.number, c.delta, c.remainder, c.table.name, c.name)
	err = conn.QueryRowxContext(ctx, c.store.sql(load), name).Scan(&number, &delta, &remainder)
	switch {
	case errors.Is(err, sql.ErrNoRows) && c.parts > 0:
		_, err := c.store.exec(ctx, conn, "INSERT INTO ID_SEGMENT (NAME, NEXT_ID, DELTA, REMAINDER) VALUES (?, 1, ?, ?)"+c.store.unlessKept(c.table),
			name, c.parts, c.part)
		if c.store.dialect.diagnose(err).exists {
			err = nil
		}
		return r, false, err
	case err != nil:
		return r, false, c.foreign(err, name)
	case c.parts > 0 && (delta != c.parts || remainder != c.part):
		return r, false, final("%w: counter %q of ID_SEGMENT has DELTA %d and REMAINDER %d, here %d and %d: "+
			"the databases of a counter must not be swapped, and their number must not change",
			segment.ErrInvalidRange, name, delta, remainder, c.parts, c.part)
	case delta < 1 || remainder < 0 || remainder >= delta:
		return r, false, final("%w: counter %q of %s has delta %d and remainder %d (allowed: delta 1 or more, remainder 0 to delta - 1)",
			segment.ErrInvalidRange, name, c.table.name, delta, remainder)
	}
	from := max(number, 1-c.last) // no ID is 0 or less
	if n > (math.MaxInt64-c.last-from)/delta {
		return r, false, final("%w: counter %q of %s has reached %d, allowed: 1 to %d", segment.ErrExhausted, name, c.table.name, number, int64(math.MaxInt64))
	}
	swap := fmt.Sprintf("UPDATE %s SET %s = ?%s WHERE %s = ? AND %s = ? AND %s = ? AND %s = ?",
		c.table.name, c.number, c.also, c.name, c.number, c.delta, c.remainder)
	changed, err := c.store.exec(ctx, conn, swap, from+n*delta, name, number, delta, remainder)
	if changed > 1 {
		return r, false, final("sqlassigner: %d rows of %s have the %s %q: leave the one with the highest %s, and make %[3]s the key",
			changed, c.table.name, c.name, name, c.number)
	}
	first := from + c.last + ((remainder-from-c.last)%delta+delta)%delta
	return segment.Range{First: first, Last: first + (n-1)*delta, Increment: delta}, changed == 1, err
}

// LeafSource returns a source for package segment that takes its ranges from the table leaf_alloc
// of a Leaf deployment. Go and Java processes may share a counter, which is the row whose biz_tag
// is the counter's name. Create the row as for Java: LeafSource does not create rows. As in Leaf,
// max_id is the next ID that was never given out; unlike Leaf, the source never issues 0 or less.
//
// segment.Config.Step and MaxStep decide about the size of the ranges; the column step is for Java.
// Otherwise it is like [SegmentSource].
func LeafSource(db *sqlx.DB, cfg Config) segment.Source {
	return &counters{
		store: newStore(db, cfg, nil, table{name: "leaf_alloc"}), table: table{name: "leaf_alloc"},
		name: "biz_tag", number: "max_id", delta: "1", remainder: "0",
	}
}

// TinyIDSource returns a source for package segment that takes its ranges from the table
// tiny_id_info of a TinyId deployment. Go and Java processes may share a counter, which is the row
// whose biz_type is the counter's name. Create the row as for Java: TinyIDSource does not create
// rows. As in TinyId, max_id is the largest number given out, and the IDs are the numbers that
// leave the column remainder when divided by the column delta. For a counter in several databases
// give each of them a source, in segment.Config.Others.
//
// segment.Config.Step and MaxStep decide about the size of the ranges; the column step is for Java.
// Otherwise it is like [SegmentSource].
func TinyIDSource(db *sqlx.DB, cfg Config) segment.Source {
	return &counters{
		store: newStore(db, cfg, nil, table{name: "tiny_id_info"}), table: table{name: "tiny_id_info"},
		name: "biz_type", number: "max_id", delta: "delta", remainder: "remainder",
		also: ", update_time = CURRENT_TIMESTAMP, version = version + 1", last: 1,
	}
}

// foreign replaces the errors for a table or row of a Java deployment that is missing: it has other
// remedies than the tables of package schema.
func (c *counters) foreign(err error, name string) error {
	switch {
	case c.parts > 0:
	case errors.Is(err, sql.ErrNoRows):
		return final("%w: table %s has no row with %s %q: insert it as for a Java service", ErrNoCounter, c.table.name, c.name, name)
	case c.store.dialect.diagnose(err).sentinel == ErrTableMissing:
		return final("%w: %s: use the database of the Java service: %w", ErrTableMissing, c.table.name, err)
	}
	return err
}
