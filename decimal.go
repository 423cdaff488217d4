package uidring

import (
	"strconv"
	"strings"
)

// Parse reads the decimal form: digits without sign, space or leading zero, so that each ID has one
// text. Another text gives [ErrSyntax]; digits after a minus sign, or a number above the largest
// ID, give [ErrRange].
func Parse(text string) (ID, error) { return parseDecimal(decimal, text) }

// parseDecimal parses the digits of a text, JSON or SQL form f. Errors name f.
func parseDecimal(f form, text string) (ID, error) {
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" {
		return 0, f.malformed(text, "no digits")
	}
	var n int64
	above := false
	for i := range len(digits) {
		d := int64(digits[i]) - '0'
		if d < 0 || d > 9 {
			return 0, f.foreign(text, len(text)-len(digits)+i)
		}
		if above = above || n > (maxID-d)/10; !above {
			n = n*10 + d
		}
	}
	switch {
	case digits[0] == '0' && len(digits) > 1:
		return 0, f.malformed(text, "leading zero")
	case negative:
		return 0, f.negative(text)
	case above:
		return 0, f.above(text)
	}
	return ID(n), nil
}

// AppendText appends the decimal form. The text form is decimal, not of fixed width, so that an ID
// looks the same in logs, in SQL, and in the values and keys of a JSON object; encoding/json writes
// keys through MarshalText. [ID.UnmarshalText] refuses a base32 or base62 text unless it is all
// digits and does not begin with 0.
//
// A negative ID gives [ErrRange] and appends nothing. AppendText allocates nothing if dst has room
// for 19 bytes.
func (id ID) AppendText(dst []byte) ([]byte, error) {
	if id < 0 {
		return dst, decimal.negative(id.String())
	}
	return strconv.AppendInt(dst, int64(id), 10), nil
}

// MarshalText returns the text that [ID.AppendText] appends, or [ErrRange] for a negative ID.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText reads the decimal form as [Parse] does. An error leaves the ID as it was.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MarshalBinary returns the text of [ID.MarshalText], for clients of Redis and for encoding/gob.
func (id ID) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary reads a text as [ID.UnmarshalText] does.
func (id *ID) UnmarshalBinary(text []byte) error { return id.UnmarshalText(text) }
