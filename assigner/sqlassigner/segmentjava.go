package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/segment"
)

// LeafSource returns a source for package segment that takes its ranges from the table leaf_alloc
// of a Leaf deployment. Go and Java processes may share a counter, which is the row whose biz_tag
// is the counter's name. Create the row as for Java: LeafSource does not create rows. As in Leaf,
// max_id is the next ID that was never given out; unlike Leaf, the source never issues 0 or less.
//
// segment.Config.Step and MaxStep decide about the size of the ranges; the column step is for Java.
// Otherwise it is like [SegmentSource].
func LeafSource(db *sqlx.DB, cfg Config) segment.Source {
	return newCounters(db, cfg, "leaf_alloc", nil, checkTag("biz_tag", 128), advanceLeaf)
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
	return newCounters(db, cfg, "tiny_id_info", nil, checkTag("biz_type", 63), advanceTinyID)
}

func checkTag(column string, most int) func(string) error {
	return func(name string) error {
		if name == "" || len(name) > most {
			return fmt.Errorf("%s %q, allowed: 1 to %d bytes", column, name, most)
		}
		return nil
	}
}

// foreign replaces the errors for a table or row of a Java deployment that is missing: it has other
// remedies than the tables of package schema.
func (c *counters) foreign(err error, column, name string) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return final("%w: table %s has no row with %s %q: insert it as for a Java service", ErrNoCounter, c.table, column, name)
	case c.store.dialect.diagnose(err).sentinel == ErrTableMissing:
		return final("%w: %s: use the database of the Java service: %w", ErrTableMissing, c.table, err)
	}
	return err
}

// lowest is how far below 0 a max_id of Leaf may be, far enough from overflows.
const lowest = 1 << 62

func advanceLeaf(ctx context.Context, c *counters, conn *sqlx.Conn, name string, n int64) (segment.Range, error) {
	for {
		var next int64
		err := conn.QueryRowxContext(ctx, c.store.sql("SELECT max_id FROM leaf_alloc WHERE biz_tag = ?"), name).Scan(&next)
		switch {
		case err != nil:
			return segment.Range{}, c.foreign(err, "biz_tag", name)
		case next < -lowest:
			return segment.Range{}, invalidRow(c, name, "max_id %d (allowed: %d or more)", next, int64(-lowest))
		case n > math.MaxInt64-max(next, 1-next):
			return segment.Range{}, exhausted(c, name, next)
		}
		after, err := c.add(ctx, conn, "max_id", "biz_tag = ?", n+max(1-next, 0), name)
		if errors.Is(err, sql.ErrNoRows) {
			continue // the row has changed since
		}
		if err != nil {
			return segment.Range{}, err
		}
		return segment.Range{First: after - n, Last: after - 1, Delta: 1}, nil
	}
}

// advanceTinyID changes the row as TinyId does: only if max_id and version are as they were read.
// delta and remainder must be so, too: an operator who changes them need not change the version.
func advanceTinyID(ctx context.Context, c *counters, conn *sqlx.Conn, name string, n int64) (segment.Range, error) {
	for {
		var id, last, delta, remainder, version int64
		err := conn.QueryRowxContext(ctx, c.store.sql("SELECT id, max_id, delta, remainder, version FROM tiny_id_info WHERE biz_type = ?"), name).
			Scan(&id, &last, &delta, &remainder, &version)
		switch {
		case err != nil:
			return segment.Range{}, c.foreign(err, "biz_type", name)
		case delta < 1 || remainder < 0 || remainder >= delta || last < 0:
			return segment.Range{}, invalidRow(c, name, "max_id %d, delta %d, remainder %d (allowed: max_id 0 or more, delta 1 or "+
				"more, remainder 0 to delta - 1)", last, delta, remainder)
		case n > (math.MaxInt64-1-last)/delta:
			return segment.Range{}, exhausted(c, name, last)
		}
		result, err := conn.ExecContext(ctx, c.store.sql("UPDATE tiny_id_info SET max_id = ?, update_time = CURRENT_TIMESTAMP, version = version + 1 "+
			"WHERE id = ? AND max_id = ? AND version = ? AND biz_type = ? AND delta = ? AND remainder = ?"),
			last+n*delta, id, last, version, name, delta, remainder)
		if err != nil {
			return segment.Range{}, err
		}
		switch changed, err := result.RowsAffected(); {
		case err != nil:
			return segment.Range{}, err
		case changed == 1:
			return rangeFrom(last+1, n, delta, remainder), nil
		}
	}
}
