package uidring_test

import (
	"errors"
	"math"
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
