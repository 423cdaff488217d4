// Package check collects the mistakes of a configuration.
package check

import (
	"errors"
	"fmt"

	"github.com/uidring/uidring"
)

// A Checker collects the mistakes of a Config, to report them all at once.
type Checker struct{ mistakes []error }

// Check records a mistake unless ok. The args format allowed.
func (c *Checker) Check(ok bool, field string, given any, allowed string, args ...any) {
	if !ok {
		c.mistakes = append(c.mistakes, &uidring.FieldError{Field: field, Given: fmt.Sprint(given), Allowed: fmt.Sprintf(allowed, args...), Kind: uidring.ErrInvalidConfig})
	}
}

// Add records an error about a field, unless it is nil.
func (c *Checker) Add(field string, given any, err error) {
	if err != nil {
		c.mistakes = append(c.mistakes, &uidring.FieldError{Field: field, Given: fmt.Sprint(given), Kind: err})
	}
}

// Join records an error about the Config in a field, with each of its mistakes on its own.
func (c *Checker) Join(field string, err error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		c.mistakes = append(c.mistakes, all.Unwrap()...)
		return
	}
	c.Add(field, "", err)
}

// Err returns all mistakes, or nil.
func (c *Checker) Err() error { return errors.Join(c.mistakes...) }
