package uidring_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring"
)

var (
	_ sql.Scanner   = (*uidring.ID)(nil)
	_ driver.Valuer = uidring.ID(0)
)

func TestScanReadsIntegersAndDecimalText(t *testing.T) {
	const largest = "9223372036854775807"
	for _, c := range []struct {
		src  any
		want uidring.ID
	}{
		{int64(0), 0}, {int64(42), 42}, {int64(math.MaxInt64), math.MaxInt64},
		{uint64(0), 0}, {uint64(42), 42}, {uint64(math.MaxInt64), math.MaxInt64},
		{"0", 0}, {"42", 42}, {largest, math.MaxInt64},
		{[]byte("0"), 0}, {[]byte("42"), 42}, {[]byte(largest), math.MaxInt64},
		{new(uidring.ID), 0}, {new(uidring.ID(42)), 42},
	} {
		id := uidring.ID(-7)
		if err := id.Scan(c.src); id != c.want || err != nil {
			t.Errorf("Scan(%#v) = %d, %v, want %d", c.src, id, err, c.want)
		}
	}
}

func TestScanRefusesWhatIsNotAnID(t *testing.T) {
	for _, c := range []struct {
		src          any
		kind         error
		given, fault string
	}{
		{nil, uidring.ErrNull, "NULL", "no value"},
		{(*uidring.ID)(nil), uidring.ErrNull, "NULL", "no value"},
		{int64(-1), uidring.ErrRange, "-1", "negative"},
		{new(uidring.ID(-1)), uidring.ErrRange, "-1", "negative"},
		{int64(math.MinInt64), uidring.ErrRange, "-9223372036854775808", "negative"},
		{uint64(1 << 63), uidring.ErrRange, "9223372036854775808", "above the largest ID"},
		{"-1", uidring.ErrRange, "-1", "negative"},
		{[]byte("9223372036854775808"), uidring.ErrRange, "9223372036854775808", "above the largest ID"},
		{"", uidring.ErrSyntax, "", "no digits"},
		{[]byte(nil), uidring.ErrSyntax, "", "no digits"},
		{"04WWA04002807", uidring.ErrSyntax, "04WWA04002807", `character "W" at offset 2`},
		{1.5, uidring.ErrSyntax, "1.5", "type float64"},
		{7.0, uidring.ErrSyntax, "7", "type float64"},
		{176636547297255431.0, uidring.ErrSyntax, "1.7663654729725542e+17", "type float64"}, // of a map, rounded
		{true, uidring.ErrSyntax, "true", "type bool"},
		{time.Unix(0, 0).UTC(), uidring.ErrSyntax, "1970-01-01 00:00:00 +0000 UTC", "type time.Time"},
	} {
		id := uidring.ID(7)
		err := id.Scan(c.src)
		checkInvalid(t, c.given, err, c.kind)
		invalid, ok := errors.AsType[*uidring.InvalidError](err)
		if !ok || invalid.Given != c.given || invalid.Fault != c.fault {
			t.Errorf("Scan(%#v): %v, want %q in it: %s", c.src, err, c.given, c.fault)
		}
		if id != 7 {
			t.Errorf("Scan(%#v): ID = %d, want 7 as before", c.src, id)
		}
	}
}
