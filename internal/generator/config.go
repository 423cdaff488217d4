// Package generator has the parts that all generators share: the checks of a Config, calls of the
// user's funcs, the end of a generator, the slow path of taking IDs from a ring, and a notifier for
// callers that wait.
package generator

import (
	"errors"
	"fmt"
)

// A FieldError is a mistake in a field of a Config. The packages of generators export it.
type FieldError struct {
	Field   string // the name of the field
	Given   string // its value
	Allowed string // the values allowed; empty if Reason names them
	Reason  error  // the sentinel of the package, or the error of another package that found the mistake
}

func (e *FieldError) Error() string {
	if e.Allowed == "" {
		return e.Reason.Error()
	}
	return fmt.Sprintf("%v: %s %s, allowed: %s", e.Reason, e.Field, e.Given, e.Allowed)
}

// Unwrap returns Reason.
func (e *FieldError) Unwrap() error { return e.Reason }

// A Checker collects the mistakes of a Config, to report them all at once.
type Checker struct {
	Invalid  error // the Reason of mistakes that Check finds
	mistakes []error
}

// Check records a mistake unless ok. The args format allowed.
func (c *Checker) Check(ok bool, field string, given any, allowed string, args ...any) {
	if !ok {
		c.mistakes = append(c.mistakes, &FieldError{field, fmt.Sprint(given), fmt.Sprintf(allowed, args...), c.Invalid})
	}
}

// Add records an error about a field, unless it is nil.
func (c *Checker) Add(field string, given any, err error) {
	if err != nil {
		c.mistakes = append(c.mistakes, &FieldError{Field: field, Given: fmt.Sprint(given), Reason: err})
	}
}

// Err returns all mistakes, or nil.
func (c *Checker) Err() error { return errors.Join(c.mistakes...) }
