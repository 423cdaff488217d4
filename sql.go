package uidring

import (
	"database/sql/driver"
	"fmt"
)

// Value returns the ID as an argument of database/sql: an int64, for a column of type BIGINT. A
// negative ID gives [ErrRange]. database/sql writes a nil *ID, and a sql.Null[ID] that is not
// valid, as NULL.
func (id ID) Value() (driver.Value, error) {
	if id < 0 {
		return nil, sqlValue.negative(id.String())
	}
	return int64(id), nil
}

// Scan reads a column of database/sql: an integer, or the decimal form as text. To read base32 or
// base62, scan into a string and parse it. Scan also reads a *ID, which ent passes after it has
// created several rows.
//
// NULL gives [ErrNull]: for a column that may be NULL, scan into a sql.Null[ID]. A negative number,
// and one above the largest ID, give [ErrRange]; any other text or type, floating-point numbers
// included, gives [ErrSyntax]. An error leaves the ID as it was.
func (id *ID) Scan(src any) error {
	scanned, err := scan(src)
	if err != nil {
		return err
	}
	*id = scanned
	return nil
}

func scan(src any) (ID, error) {
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return 0, sqlValue.negative(ID(v).String())
		}
		return ID(v), nil
	case uint64: // MySQL's BIGINT UNSIGNED
		if v > maxID {
			return 0, sqlValue.above(fmt.Sprint(v))
		}
		return ID(v), nil
	case []byte:
		return parseDecimal(sqlValue, string(v))
	case string:
		return parseDecimal(sqlValue, v)
	case *ID:
		if v != nil {
			return scan(int64(*v))
		}
		return 0, sqlValue.null()
	case nil:
		return 0, sqlValue.null()
	}
	return 0, sqlValue.malformed(fmt.Sprint(src), fmt.Sprintf("type %T", src))
}
