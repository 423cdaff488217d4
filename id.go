package uidring

import (
	"cmp"
	"log/slog"
	"math"
	"strconv"
)

// An ID is a unique ID with its text forms, JSON and SQL. Generators return int64; ID(n) converts.
//
// There are three text forms:
//
//	decimal  176636547297255431   String, MarshalText, JSON, SQL, Redis, gob, logs; variable width
//	base32   04WWA04002807        AppendBase32; 13 characters that sort like the IDs; read in lower case, too
//	base62   0D2zpT7hYBT          AppendBase62; 11 characters that sort like the IDs if case counts
//
// Valid IDs are 0 to 9,223,372,036,854,775,807. Generators never issue 0; it is valid because it is
// the zero value. Parsers refuse all other numbers with an [InvalidError]. MarshalText, JSON and
// SQL refuse to write them, so that every written ID can be read back. String, Base32 and Base62
// cannot return an error, and write a text that the parsers refuse.
//
// An ID is a plain number: copy, compare and share it between goroutines like an int64.
type ID int64

const maxID = math.MaxInt64

// String returns the decimal form; a negative number has its sign.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// Compare returns -1, 0 or +1 if id is smaller than, equal to or larger than other. The larger of
// two IDs of one layout and epoch has the same or a later time. [slices.SortFunc] takes ID.Compare.
func (id ID) Compare(other ID) int { return cmp.Compare(id, other) }

// LogValue makes slog write the decimal form as a string, since many viewers of JSON logs round
// numbers above 2^53.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }
