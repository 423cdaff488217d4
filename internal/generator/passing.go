package generator

import "time"

// A Passing is an error that passes by itself after a time, for uidring.RetryAfter. Generators
// return it, and assigners, such as when all worker IDs are held.
type Passing struct {
	Err   error
	After time.Duration
}

func (p Passing) Error() string { return p.Err.Error() }

// Unwrap returns Err.
func (p Passing) Unwrap() error { return p.Err }

// RetryAfter returns After.
func (p Passing) RetryAfter() time.Duration { return p.After }
