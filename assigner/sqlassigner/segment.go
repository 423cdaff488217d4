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
	t := idSegment{delta: int64(parts), remainder: int64(part)}
	return newCounters(db, cfg, "ID_SEGMENT", wrong, leasestore.CheckNamespace, t.advance)
}

// counters is a source whose counters are the rows of a table.
type counters struct {
	store   *store
	table   string // in package schema, or of a Java deployment
	check   func(name string) error
	advance func(ctx context.Context, c *counters, conn *sqlx.Conn, name string, n int64) (segment.Range, error)
}

func newCounters(db *sqlx.DB, cfg Config, table string, wrong error, check func(string) error,
	advance func(context.Context, *counters, *sqlx.Conn, string, int64) (segment.Range, error)) *counters {
	return &counters{store: newStore(db, cfg, wrong), table: table, check: check, advance: advance}
}

// Advance implements segment.Source. Repeating a call that may have taken effect wastes a range,
// and repeats no ID.
func (c *counters) Advance(ctx context.Context, name string, n int64) (r segment.Range, err error) {
	if err := c.check(name); err != nil {
		return r, fmt.Errorf("sqlassigner: counter: %w", err)
	}
	if n < 1 {
		return r, fmt.Errorf("sqlassigner: %d IDs of counter %q, allowed: 1 or more", n, name)
	}
	return ask(ctx, c.store, fmt.Sprintf("advance counter %q in %s", name, c.table), func(ctx context.Context, conn *sqlx.Conn) (segment.Range, error) {
		if err := c.checkStore(ctx, conn); err != nil {
			return segment.Range{}, err
		}
		return c.advance(ctx, c, conn, name, n)
	})
}

// checkStore checks that the database keeps commits and has one table of the name.
func (c *counters) checkStore(ctx context.Context, conn *sqlx.Conn) error {
	group := []table{{name: c.table}}
	if c.table == segmentTable.name {
		group = segmentTables()
	}
	if err := c.store.checkDurable(ctx, conn, group, "ranges"); err != nil {
		return err
	}
	if err := c.store.permanent(ctx, conn, group); err != nil || c.table != segmentTable.name {
		return err // the names of Leaf and TinyId are theirs
	}
	_, err := c.store.checkTables(ctx, conn, group)
	return err
}

// add adds by to a column of the row that the condition finds, unless the column would exceed
// 2^63 - 1, and returns the new value, or sql.ErrNoRows when there is no such row.
func (c *counters) add(ctx context.Context, conn *sqlx.Conn, column, condition string, by int64, args ...any) (next int64, err error) {
	update := "UPDATE " + c.table + " SET " + column + " = %s WHERE " + condition + " AND " + column + " <= ?"
	args = append(append([]any{by}, args...), math.MaxInt64-by)
	if !c.store.dialect.returning {
		// With LAST_INSERT_ID, the answer of the server, which follows the commit, has the value.
		result, err := conn.ExecContext(ctx, c.store.sql(fmt.Sprintf(update, "LAST_INSERT_ID("+column+" + ?)")), args...)
		if err != nil {
			return 0, err
		}
		switch changed, err := result.RowsAffected(); {
		case err != nil:
			return 0, err
		case changed == 0:
			return 0, sql.ErrNoRows
		}
		return result.LastInsertId()
	}
	// In a transaction, the value counts only after the commit was confirmed. By itself, RETURNING
	// sends it before the commit.
	err = c.store.tx(ctx, conn, func(tx *sqlx.Tx) error {
		return tx.QueryRowxContext(ctx, c.store.sql(fmt.Sprintf(update, column+" + ?")+" RETURNING "+column), args...).Scan(&next)
	})
	return next, err
}

// idSegment is the table ID_SEGMENT.
type idSegment struct{ delta, remainder int64 }

func (t idSegment) advance(ctx context.Context, c *counters, conn *sqlx.Conn, name string, n int64) (segment.Range, error) {
	for {
		var next, delta, remainder int64
		err := conn.QueryRowxContext(ctx, c.store.sql("SELECT NEXT_ID, DELTA, REMAINDER FROM ID_SEGMENT WHERE NAME = ?"), name).
			Scan(&next, &delta, &remainder)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err := conn.ExecContext(ctx, c.store.sql("INSERT INTO ID_SEGMENT (NAME, NEXT_ID, DELTA, REMAINDER) VALUES (?, 1, ?, ?)"+
				c.store.unlessKept(segmentTable.key)), name, t.delta, t.remainder)
			if err != nil && !c.store.dialect.diagnose(err).exists {
				return segment.Range{}, err
			}
			continue
		case err != nil:
			return segment.Range{}, err
		case delta != t.delta || remainder != t.remainder:
			return segment.Range{}, final("%w: counter %q of ID_SEGMENT has DELTA %d and REMAINDER %d, here %d and %d: "+
				"the databases of a counter must not be swapped, and their number must not change",
				segment.ErrInvalidRange, name, delta, remainder, t.delta, t.remainder)
		case next < 1:
			return segment.Range{}, invalidRow(c, name, "NEXT_ID %d (allowed: 1 or more)", next)
		case n > (math.MaxInt64-next)/delta:
			return segment.Range{}, exhausted(c, name, next)
		}
		after, err := c.add(ctx, conn, "NEXT_ID", "NAME = ? AND DELTA = ? AND REMAINDER = ?", n*delta, name, delta, remainder)
		if errors.Is(err, sql.ErrNoRows) {
			continue // the row has changed since
		}
		if err != nil {
			return segment.Range{}, err
		}
		return rangeFrom(after-n*delta, n, delta, remainder), nil
	}
}

// rangeFrom returns the first n IDs from a number up that leave the remainder when divided by
// delta.
func rangeFrom(from, n, delta, remainder int64) segment.Range {
	first := from + ((remainder-from)%delta+delta)%delta
	return segment.Range{First: first, Last: first + (n-1)*delta, Delta: delta}
}

func exhausted(c *counters, name string, next int64) error {
	return final("%w: counter %q of %s has reached %d, allowed: 1 to %d", segment.ErrExhausted, name, c.table, next, int64(math.MaxInt64))
}

func invalidRow(c *counters, name, format string, args ...any) error {
	return final("%w: counter %q of %s has %s", segment.ErrInvalidRange, name, c.table, fmt.Sprintf(format, args...))
}
