package migrate

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jmoiron/sqlx"
)

// A Column is a column of a table that holds IDs. Names are exact; the name of a table may have a
// schema, as in app.orders.
type Column struct{ Table, Column string }

// ReadAll returns all IDs of a column. It leaves NULL out.
func ReadAll(ctx context.Context, db *sqlx.DB, c Column) ([]int64, error) {
	return c.read(ctx, db, " IS NOT NULL")
}

// ReadEnds returns the smallest and the largest IDs of a column, at most count of each, and the
// same of the negative IDs. An index on the column makes this fast. If all is true, the column has
// no further IDs.
func ReadEnds(ctx context.Context, db *sqlx.DB, c Column, count int) (ids []int64, all bool, err error) {
	all = true
	column := quoted(db, c.Column)
	for _, sign := range [...]string{" >= 0", " < 0"} {
		smallest, err := c.read(ctx, db, fmt.Sprintf("%s ORDER BY %s LIMIT %d", sign, column, count))
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, smallest...)
		if len(smallest) < count {
			continue // the sign has no further IDs
		}
		// No row is read twice: it would look like a repeated ID.
		largest, err := c.read(ctx, db, fmt.Sprintf("%s AND %s > %d ORDER BY %s DESC LIMIT %d", sign, column, smallest[count-1], column, count))
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, largest...)
		all = all && len(largest) < count
	}
	return ids, all, nil
}

// read returns the IDs of the rows for which the column fulfils a condition. It rejects a column of
// another type than an integer: texts have another order.
func (c Column) read(ctx context.Context, db *sqlx.DB, condition string) (ids []int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s of %s: %w", c.Column, c.Table, err)
		}
	}()
	names := strings.Split(c.Table, ".")
	for i, name := range names {
		names[i] = quoted(db, name)
	}
	column := quoted(db, c.Column)
	rows, err := db.QueryContext(ctx, "SELECT "+column+" FROM "+strings.Join(names, ".")+" WHERE "+column+condition)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	if kind := types[0].DatabaseTypeName(); !integer.MatchString(kind) {
		return nil, fmt.Errorf("its type is %s, allowed: an integer type; print other columns as decimal numbers, and pass them on standard input", kind)
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("allowed: numbers from -2^63 to 2^63 - 1: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// integer matches the names that drivers give to types of whole numbers, and the empty name of a
// column without a type in SQLite.
var integer = regexp.MustCompile(`(?i)^((unsigned )?(big|medium|small|tiny)?int(eger)?[248]?( unsigned)?(\(\d+\))?|(decimal|numeric)(\(\d+(, ?0)?\))?)?$`)

// quoted quotes the name of a table or column for the database of a handle. SQLite would take an
// unknown column in double quotes for a text.
func quoted(db *sqlx.DB, name string) string {
	quote := "`"
	if db.DriverName() == "pgx" {
		quote = `"`
	}
	return quote + strings.ReplaceAll(name, quote, quote+quote) + quote
}
