package cached

import (
	"errors"
	"fmt"

	"github.com/uidring/uidring"
)

// The errors of package uidring, as the generator returns them. [uidring.RetryAfter] returns the
// time after which an error passes.
var (
	// ErrInvalidConfig is returned by [New] and [Config.Validate] for a mistake in the Config. The
	// text names every field that is wrong, the value given and the values allowed.
	ErrInvalidConfig = uidring.ErrInvalidConfig
	// ErrClosed is returned by methods that are asked for IDs once Close has returned.
	ErrClosed = uidring.ErrClosed
	// ErrEmpty is returned under the policy Reject when the ring is empty. It passes.
	ErrEmpty = uidring.ErrEmpty
	// ErrTooFarAhead is returned when the ring is empty and the next ID would be more than MaxAhead
	// ahead of the clock. It passes as the clock moves on.
	ErrTooFarAhead = uidring.ErrTooFarAhead
	// ErrLeaseExhausted is returned when the ring is empty and no grant covers the next unit of
	// time. Either the generator has reached the fence of its worker ID, or it has lost the worker
	// ID and may not use up the grant. It passes when the store answers. At full speed from the
	// start it comes while the first windows are too small; see [assigner.LeaseConfig].
	ErrLeaseExhausted = uidring.ErrLeaseExhausted
	// ErrTimeExhausted is returned by New when the layout has ended, and later when the ring is
	// empty and the delta field is used up. It is permanent: choose a new layout or epoch.
	ErrTimeExhausted = uidring.ErrTimeExhausted
)

// empty returns ErrEmpty, with the reason for which a pass would put no block if there is one. A
// permanent reason comes alone.
func empty(reason error) error {
	switch {
	case reason == nil:
		return ErrEmpty
	case errors.Is(reason, ErrTimeExhausted):
		return reason
	}
	return fmt.Errorf("%w: %w", ErrEmpty, reason)
}
