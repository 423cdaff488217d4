package defaultgen

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is returned by every method that issues IDs once Close was called.
	ErrClosed = errors.New("defaultgen: generator closed")
	// ErrSequenceExhausted is returned when all IDs of the current unit are issued. It passes when
	// the unit ends.
	ErrSequenceExhausted = errors.New("defaultgen: the sequence of this unit is used up")
	// ErrClockBack is returned when the clock is behind the last ID, or behind the first unit that
	// the worker ID may be used in; it comes as a [*ClockBackError]. It passes when the clock has
	// caught up. Do not restart the process instead: with an unfenced worker ID that comes back,
	// the new process would repeat IDs.
	ErrClockBack = errors.New("defaultgen: the clock is behind")
	// ErrLeaseExhausted is returned while no grant covers the current unit. Either the generator
	// has reached the fence of its worker ID, or it has lost the worker ID and may not use up the
	// grant. It passes when the store answers.
	ErrLeaseExhausted = errors.New("defaultgen: no worker ID is held for the current unit of time")
	// ErrTimeExhausted is returned by New when the layout has ended, and later when the delta field
	// is used up. It is permanent: choose a new layout or epoch.
	ErrTimeExhausted = errors.New("defaultgen: the delta field is used up")
)

// A ClockBackError reports how far the clock is behind.
type ClockBackError struct {
	Behind time.Duration // until the unit in which IDs may go on
}

func (e *ClockBackError) Error() string { return fmt.Sprintf("%v: by %v", ErrClockBack, e.Behind) }

// Unwrap returns ErrClockBack.
func (e *ClockBackError) Unwrap() error { return ErrClockBack }
