// Package idtext reads IDs in the forms that they are written in, and shows them taken apart: the
// same way in the command and in the service.
package idtext

import (
	"errors"
	"fmt"
	"strings"

	"github.com/uidring/uidring"
)

// A Form is how IDs are written.
type Form string

// The forms of package uidring, and Auto: the one form that a text can be read in.
const (
	Auto    Form = "auto"
	Decimal Form = "decimal"
	Base32  Form = "base32"
	Base62  Form = "base62"
)

// Type names the form as the value of a flag.
func (f *Form) Type() string { return "form" }

// String returns the name of the form.
func (f *Form) String() string { return string(*f) }

// Set takes the name of a form.
func (f *Form) Set(name string) error {
	switch form := Form(strings.ToLower(name)); form {
	case Auto, Decimal, Base32, Base62:
		*f = form
		return nil
	}
	return errors.New("allowed: auto, decimal, base32, base62")
}

// Read reads an ID. With Auto, a text that can be read in two forms is refused: of 11 or 13 digits,
// none of them a leading zero, nobody can say whether they are a decimal number, and a guess would
// be another ID.
func (f Form) Read(text string) (uidring.ID, error) {
	switch f {
	case Decimal:
		return uidring.Parse(text)
	case Base32:
		return uidring.ParseBase32(text)
	case Base62:
		return uidring.ParseBase62(text)
	}
	fromDecimal, errDecimal := uidring.Parse(text)
	var other Form
	switch len(text) {
	case 13:
		other = Base32
	case 11:
		other = Base62
	default:
		if errors.Is(errDecimal, uidring.ErrSyntax) && strings.Trim(text, "0123456789") != "" {
			return 0, fmt.Errorf("%w: no form of %d characters, allowed: decimal digits, 13 characters of base32, 11 of base62", uidring.ErrSyntax, len(text))
		}
		return fromDecimal, errDecimal
	}
	fromOther, errOther := other.Read(text)
	switch {
	case errDecimal == nil && errOther == nil:
		return 0, fmt.Errorf("ambiguous ID: %q is a decimal number and %s; say which by its form, decimal or %s", text, other, other)
	case errDecimal == nil:
		return fromDecimal, nil
	}
	return fromOther, errOther
}
