package uidring

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The errors of all generators and of package client. The packages have them under the same names,
// with their conditions: cached.ErrClosed is ErrClosed.
var (
	// ErrInvalidConfig is wrapped in the error for a mistake in a Config, a [FieldError]; a Layout
	// or an Epoch that is wrong by itself is a bitsalloc.ErrInvalidLayout.
	ErrInvalidConfig = errors.New("uidring: invalid config")
	// ErrClosed is returned by methods that are asked for IDs once Close has returned.
	ErrClosed = errors.New("uidring: closed")
	// ErrEmpty is returned when no ID is in memory. It passes.
	ErrEmpty = errors.New("uidring: no ID is ready")
	// ErrTooFarAhead is returned when the next ID would be too far ahead of the clock. It passes.
	ErrTooFarAhead = errors.New("uidring: too far ahead of the clock")
	// ErrSequenceExhausted is returned when the current unit has no ID left. It passes.
	ErrSequenceExhausted = errors.New("uidring: the sequence of this unit is used up")
	// ErrClockBack is returned when the clock is behind the last ID. It passes.
	ErrClockBack = errors.New("uidring: the clock is behind")
	// ErrLeaseExhausted is returned when no worker ID is held for the unit of time of the next ID.
	// It passes when the store answers.
	ErrLeaseExhausted = errors.New("uidring: no worker ID is held for the unit of time")
	// ErrTimeExhausted is returned when the layout has ended. It is permanent.
	ErrTimeExhausted = errors.New("uidring: the delta field is used up")
)

// RetryAfter reports whether the call that returned err may succeed later, by itself, and after
// which time to repeat it: a second if the time is not known, as in an outage of a store. It
// understands the errors of generators, of their New, of assigners and of package client, and any
// error with a method RetryAfter() time.Duration.
func RetryAfter(err error) (after time.Duration, passes bool) {
	if e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return e.RetryAfter(), true
	}
	for _, passing := range []error{ErrEmpty, ErrTooFarAhead, ErrSequenceExhausted, ErrClockBack, ErrLeaseExhausted} {
		if errors.Is(err, passing) {
			return time.Second, true
		}
	}
	return 0, false
}

var (
	// ErrSyntax is wrapped in the error for input that is not written like an ID: a wrong length, a
	// character that is no digit of the form, a leading zero, a wrong type.
	ErrSyntax = errors.New("uidring: malformed ID")
	// ErrRange is wrapped in the error for a number that is negative or above
	// 9,223,372,036,854,775,807, or for a JSON number above 2^53 − 1.
	ErrRange = errors.New("uidring: ID out of range")
	// ErrNull is returned, within an [InvalidError], by [ID.Scan] for NULL.
	ErrNull = errors.New("uidring: NULL is not an ID")
)

// An InvalidError describes a text or value that is not an ID, and the input allowed. All errors of
// the methods of ID and of the parsers are of type *InvalidError. errors.Is finds the kind in it,
// errors.AsType its fields.
type InvalidError struct {
	Form    string // the expected form: "decimal", "base32", "base62", "JSON" or "SQL"; in package publicid the kind of ID
	Given   string // the input; if it is longer than 64 bytes, its first 64 without invalid UTF-8, and "…"
	Fault   string // the mistake in it, such as "12 bytes long"
	Allowed string // the input allowed
	Kind    error  // ErrSyntax, ErrRange or ErrNull
}

// Error returns a text with all fields, such as
//
//	uidring: malformed ID: base62 "0D2z": 4 bytes long, allowed: 11 characters of 0-9, A-Z and a-z
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%v: %s %q: %s, allowed: %s", e.Kind, e.Form, e.Given, e.Fault, e.Allowed)
}

// Unwrap returns Kind.
func (e *InvalidError) Unwrap() error { return e.Kind }

// A form is the expected form of a text or value; it words the errors.
type form string

const (
	decimal   form = "decimal"
	base32    form = "base32"
	base62    form = "base62"
	jsonValue form = "JSON"
	sqlValue  form = "SQL"
)

// syntax describes a well-formed text.
func (f form) syntax() string {
	const digits = "decimal digits without sign or leading zero"
	switch f {
	case base32:
		return "13 characters of 0-9 and A-Z but U"
	case base62:
		return "11 characters of 0-9, A-Z and a-z"
	case jsonValue:
		return "a string or number of " + digits
	case sqlValue:
		return "an integer, or a text of " + digits
	}
	return digits
}

// span returns the smallest and the largest ID, written in the form.
func (f form) span() string {
	const largest ID = maxID
	switch f {
	case base32:
		return ID(0).Base32() + " to " + largest.Base32()
	case base62:
		return ID(0).Base62() + " to " + largest.Base62()
	}
	return ID(0).String() + " to " + largest.String()
}

func (f form) invalid(kind error, given, fault, allowed string) error {
	return &InvalidError{Form: string(f), Given: excerpt(given), Fault: fault, Allowed: allowed, Kind: kind}
}

func (f form) malformed(given, fault string) error {
	return f.invalid(ErrSyntax, given, fault, f.syntax())
}

func (f form) length(given string) error {
	return f.malformed(given, fmt.Sprintf("%d bytes long", len(given)))
}

// foreign reports the character that begins at a byte offset of the input.
func (f form) foreign(given string, offset int) error {
	_, size := utf8.DecodeRuneInString(given[offset:])
	character := strconv.Quote(given[offset : offset+size])
	return f.malformed(given, "character "+character+" at offset "+strconv.Itoa(offset))
}

func (f form) negative(given string) error {
	return f.invalid(ErrRange, given, "negative", f.span())
}

func (f form) above(given string) error {
	return f.invalid(ErrRange, given, "above the largest ID", f.span())
}

func (f form) null() error {
	return f.invalid(ErrNull, "NULL", "no value", f.syntax()+"; where NULL may occur, scan into a sql.Null[uidring.ID]")
}

// excerpt bounds the input that an error keeps and prints. It copies the input so that no error
// refers to a parser's argument. So the compiler can convert a parser's bytes to a string without
// an allocation.
func excerpt(given string) string {
	const most = 64
	if len(given) > most {
		return strings.ToValidUTF8(given[:most], "") + "…"
	}
	return strings.Clone(given)
}

// A TakeRejectedInfo tells a generator's Trace.TakeRejected about an error.
type TakeRejectedInfo struct {
	Err error // as the caller gets it
}

// A FieldError is a mistake in the Config of package cached, defaultgen, segment or backdate, or in
// an argument of package publicid.
type FieldError struct {
	Field   string // the name of the field
	Given   string // its value
	Allowed string // the values allowed; empty if Kind names them
	Kind    error  // ErrInvalidConfig, publicid.ErrInvalid; without Allowed, bitsalloc.ErrInvalidLayout or ErrTimeExhausted
}

func (e *FieldError) Error() string {
	if e.Allowed == "" {
		return fmt.Sprint(e.Kind)
	}
	return fmt.Sprintf("%v: %s %s, allowed: %s", e.Kind, e.Field, e.Given, e.Allowed)
}

// Unwrap returns Kind.
func (e *FieldError) Unwrap() error { return e.Kind }
