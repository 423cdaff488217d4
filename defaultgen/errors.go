package defaultgen

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is returned by every method that issues IDs once Close was called.
	ErrClosed = errors.New("defaultgen: generator closed")
	// ErrSequenceExhausted is returned when all IDs of the current unit are issued. It passes with the unit.
	ErrSequenceExhausted = errors.New("defaultgen: the sequence of this unit is used up")
	// ErrClockBack is returned when the clock is behind the last ID; it comes as a [*ClockBackError]. It
	// passes when the clock has caught up.
	ErrClockBack = errors.New("defaultgen: the clock went back")
	// ErrLeaseExhausted is returned while no grant covers the current unit: the worker ID was lost, or its
	// fence reached, and the store has not given another yet. It passes when the store answers.
	ErrLeaseExhausted = errors.New("defaultgen: no worker ID is held for the current unit of time")
	// ErrTimeExhausted is returned by New when the layout has ended, and later when the delta field is used
	// up. It stays: a new layout or epoch is needed.
	ErrTimeExhausted = errors.New("defaultgen: the delta field is used up")
)

// A ClockBackError says by how much the clock is behind the unit of the last ID.
type ClockBackError struct {
	Behind time.Duration
}

func (e *ClockBackError) Error() string { return fmt.Sprintf("%v: by %v", ErrClockBack, e.Behind) }

// Unwrap returns ErrClockBack.
func (e *ClockBackError) Unwrap() error { return ErrClockBack }
