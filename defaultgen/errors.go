package defaultgen

import "github.com/uidring/uidring"

// The errors of package uidring, as the generator returns them. [uidring.RetryAfter] returns the
// time after which an error passes.
var (
	// ErrInvalidConfig is returned by [New] and [Config.Validate] for a mistake in the Config. The
	// text names every field that is wrong, the value given and the values allowed.
	ErrInvalidConfig = uidring.ErrInvalidConfig
	// ErrClosed is returned by methods that are asked for IDs once Close has returned.
	ErrClosed = uidring.ErrClosed
	// ErrSequenceExhausted is returned when all IDs of the current unit are issued, or when an
	// earlier lease has used the unit. It passes when the unit ends.
	ErrSequenceExhausted = uidring.ErrSequenceExhausted
	// ErrClockBack is returned when the clock is behind the last ID, or behind the first unit that
	// the worker ID may be used in. It passes when the clock has caught up. Do not restart the
	// process instead: with an unfenced worker ID that comes back, the new process would repeat
	// IDs.
	ErrClockBack = uidring.ErrClockBack
	// ErrLeaseExhausted is returned while no grant covers the current unit. Either the generator
	// has reached the fence of its worker ID, or it has lost the worker ID and may not use up the
	// grant. It passes when the store answers.
	ErrLeaseExhausted = uidring.ErrLeaseExhausted
	// ErrTimeExhausted is returned by New when the layout has ended, and later when the delta field
	// is used up. It is permanent, unless the clock was wrong: choose a new layout or epoch.
	ErrTimeExhausted = uidring.ErrTimeExhausted
)
