package uidring_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring"
)

func second[T any](_ T, err error) error { return err }

// checkInvalid asks for the typed error of one kind, and of no other.
func checkInvalid(t *testing.T, what string, err, kind error) {
	t.Helper()
	invalid, ok := errors.AsType[*uidring.InvalidError](err)
	if !ok {
		t.Errorf("%s: error %v, want an InvalidError", what, err)
		return
	}
	for _, k := range []error{uidring.ErrSyntax, uidring.ErrRange, uidring.ErrNull} {
		if got := errors.Is(err, k); got != (k == kind) {
			t.Errorf("%s: %v is %v: %v", what, err, k, got)
		}
	}
	if invalid.Form == "" || invalid.Fault == "" || invalid.Allowed == "" {
		t.Errorf("%s: %+v leaves fields empty", what, *invalid)
	}
}

func TestParsersRefuseWhatIsNotAnID(t *testing.T) {
	form := map[string]textForm{}
	for _, f := range textForms() {
		form[f.name] = f
	}
	const (
		digits = "decimal digits without sign or leading zero"
		in32   = "13 characters of 0-9 and A-Z but U"
		in62   = "11 characters of 0-9, A-Z and a-z"
		all10  = "0 to 9223372036854775807"
		all32  = "0000000000000 to 7ZZZZZZZZZZZZ"
		all62  = "00000000000 to AzL8n0Y58m7"
	)
	for _, c := range []struct {
		form, text, fault, allowed string
		kind                       error
	}{
		{"decimal", "", "no digits", digits, uidring.ErrSyntax},
		{"decimal", "-", "no digits", digits, uidring.ErrSyntax},
		{"decimal", "+1", `character "+" at offset 0`, digits, uidring.ErrSyntax},
		{"decimal", "1\n", `character "\n" at offset 1`, digits, uidring.ErrSyntax},
		{"decimal", "12٣", `character "٣" at offset 2`, digits, uidring.ErrSyntax},
		{"decimal", "1\xff", `character "\xff" at offset 1`, digits, uidring.ErrSyntax},
		{"decimal", "007", "leading zero", digits, uidring.ErrSyntax},
		{"decimal", "99999999999999999999x", `character "x" at offset 20`, digits, uidring.ErrSyntax},
		{"decimal", "-1", "negative", all10, uidring.ErrRange},
		{"decimal", "9223372036854775808", "above the largest ID", all10, uidring.ErrRange},
		{"decimal", "18446744073709551617", "above the largest ID", all10, uidring.ErrRange}, // wraps to 1
		{"base32", "", "0 bytes long", in32, uidring.ErrSyntax},
		{"base32", "00000000000000", "14 bytes long", in32, uidring.ErrSyntax},
		{"base32", "04WW-A0400280", `character "-" at offset 4`, in32, uidring.ErrSyntax},
		{"base32", "000000000000U", `character "U" at offset 12`, in32, uidring.ErrSyntax},
		{"base32", "00000000000é", `character "é" at offset 11`, in32, uidring.ErrSyntax},
		{"base32", "8000000000000", "above the largest ID", all32, uidring.ErrRange}, // 2^63
		{"base32", "G000000000001", "above the largest ID", all32, uidring.ErrRange}, // 2^64 + 1
		{"base62", "", "0 bytes long", in62, uidring.ErrSyntax},
		{"base62", "0000000000", "10 bytes long", in62, uidring.ErrSyntax},
		{"base62", "0000000000-", `character "-" at offset 10`, in62, uidring.ErrSyntax},
		{"base62", "000000000é", `character "é" at offset 9`, in62, uidring.ErrSyntax},
		{"base62", "AzL8n0Y58m8", "above the largest ID", all62, uidring.ErrRange}, // 2^63
		{"base62", "LygHa16AHYH", "above the largest ID", all62, uidring.ErrRange}, // 2^64 + 1
	} {
		t.Run(c.form+" "+c.text, func(t *testing.T) {
			id, err := form[c.form].read(c.text)
			if id != 0 {
				t.Errorf("ID %d beside an error", int64(id))
			}
			checkInvalid(t, c.text, err, c.kind)
			want := uidring.InvalidError{Form: c.form, Given: c.text, Fault: c.fault, Allowed: c.allowed, Kind: c.kind}
			if got, ok := errors.AsType[*uidring.InvalidError](err); !ok || *got != want {
				t.Errorf("error %+v\nwant  %+v", got, want)
			}
		})
	}
}

func TestErrorsKeepNoMoreThanAnExcerpt(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	for _, f := range textForms() {
		err := second(f.read(long))
		invalid, ok := errors.AsType[*uidring.InvalidError](err)
		if !ok || invalid.Given != long[:64]+"…" || len(err.Error()) > 300 {
			t.Errorf("%s: %.400v, want an excerpt of 64 bytes", f.name, err)
		}
	}
}

func TestNegativeIDsAreNotWritten(t *testing.T) {
	for _, id := range []uidring.ID{-1, math.MinInt64} {
		before := []byte("before")
		dst, err := id.AppendText(before)
		checkInvalid(t, "AppendText", err, uidring.ErrRange)
		if string(dst) != "before" {
			t.Errorf("AppendText left %q, want dst unchanged", dst)
		}
		checkInvalid(t, "MarshalText", second(id.MarshalText()), uidring.ErrRange)
		checkInvalid(t, "MarshalBinary", second(id.MarshalBinary()), uidring.ErrRange)
		checkInvalid(t, "MarshalJSON", second(id.MarshalJSON()), uidring.ErrRange)
		checkInvalid(t, "Value", second(id.Value()), uidring.ErrRange)
	}
	if got := uidring.ID(-1).String(); got != "-1" {
		t.Errorf("String = %q, want -1", got)
	}
}

func TestZeroErrorsPrint(t *testing.T) {
	for _, err := range []error{new(uidring.FieldError), new(uidring.InvalidError)} {
		if err.Error() == "" {
			t.Errorf("%T prints nothing", err)
		}
	}
}
