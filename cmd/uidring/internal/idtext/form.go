// Package idtext reads the text forms of IDs for the command, and describes parsed IDs for it and
// the service alike.
package idtext

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
)

// A Form is a text form of IDs.
type Form string

// The forms of package uidring, and Auto, which recognizes the form of a text.
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

// Set sets the form by its name.
func (f *Form) Set(name string) error {
	switch form := Form(strings.ToLower(name)); form {
	case Auto, Decimal, Base32, Base62:
		*f = form
		return nil
	}
	return errors.New("allowed: auto, decimal, base32, base62")
}

// Read reads an ID. With Auto, it rejects a text that is valid in two forms: 11 or 13 digits
// without a leading zero may be decimal, or base62 or base32. A wrong guess would be another ID.
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
			return 0, fmt.Errorf("%w: no form has %d characters, allowed: decimal digits, 13 characters of base32, 11 of base62", uidring.ErrSyntax, len(text))
		}
		return fromDecimal, errDecimal
	}
	fromOther, errOther := other.Read(text)
	switch {
	case errDecimal == nil && errOther == nil:
		return 0, fmt.Errorf("ambiguous ID: %q is valid as decimal and as %s; set the form, decimal or %s", text, other, other)
	case errDecimal == nil:
		return fromDecimal, nil
	}
	return fromOther, errOther
}

// Fields are an ID in all its text forms and the fields of its layout, in the form for JSON.
type Fields struct {
	ID         uidring.ID `json:"id"`
	Base32     string     `json:"base32"`
	Base62     string     `json:"base62"`
	Delta      int64      `json:"delta"`
	Datacenter int64      `json:"datacenter"`
	Worker     int64      `json:"worker"`
	Sequence   int64      `json:"sequence"`
	Time       time.Time  `json:"time"`
}

// Of returns the Fields of a parsed ID.
func Of(f bitsalloc.Fields) Fields {
	id := uidring.ID(f.ID)
	return Fields{
		ID: id, Base32: id.Base32(), Base62: id.Base62(),
		Delta: f.Delta, Datacenter: f.DatacenterID, Worker: f.WorkerID, Sequence: f.Sequence, Time: f.Time,
	}
}
