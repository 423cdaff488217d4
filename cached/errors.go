package cached

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is returned by every method that issues IDs once Close was called.
	ErrClosed = errors.New("cached: generator closed")
	// ErrEmpty is returned under the policy Reject when the ring is empty. It passes.
	ErrEmpty = errors.New("cached: ring empty")
	// ErrTooFarAhead is returned when the ring is empty and the next ID would be more than MaxAhead
	// ahead of the clock; it comes as an [*AheadError]. It passes as the clock moves on.
	ErrTooFarAhead = errors.New("cached: too far ahead of the clock")
	// ErrLeaseExhausted is returned when the ring is empty and no grant covers the next unit of
	// time. Either the generator has reached the fence of its worker ID, or it has lost the worker
	// ID and may not use up the grant. It passes when the store answers. At full speed from the
	// start it comes while the first windows are too small; see [assigner.LeaseConfig].
	ErrLeaseExhausted = errors.New("cached: no worker ID is held for the next unit of time")
	// ErrTimeExhausted is returned by New when the layout has ended, and later when the ring is
	// empty and the delta field is used up. It is permanent: choose a new layout or epoch.
	ErrTimeExhausted = errors.New("cached: the delta field is used up")
)

// An AheadError reports how far ID time would run ahead of the clock.
type AheadError struct {
	Ahead   time.Duration // of the refused unit; RetryIn more than Config.MaxAhead in whole units
	RetryIn time.Duration // until the unit may be used
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("%v: by %v, allowed: %v", ErrTooFarAhead, e.Ahead, e.Ahead-e.RetryIn)
}

// Unwrap returns ErrTooFarAhead.
func (e *AheadError) Unwrap() error { return ErrTooFarAhead }

// passing reports whether err may stop occurring while the generator lives.
func passing(err error) bool {
	return errors.Is(err, ErrEmpty) || errors.Is(err, ErrTooFarAhead) || errors.Is(err, ErrLeaseExhausted)
}
