package segment

import (
	"errors"

	"github.com/uidring/uidring"
)

// ErrInvalidConfig, ErrClosed and ErrEmpty are the errors of package uidring.
var (
	// ErrInvalidConfig is returned by New and Config.Validate for a mistake in the Config. The text
	// names every field that is wrong, the value given and the values allowed.
	ErrInvalidConfig = uidring.ErrInvalidConfig
	// ErrClosed is returned by methods that are asked for IDs once Close has returned.
	ErrClosed = uidring.ErrClosed
	// ErrEmpty is returned when all ranges are used up: at once under the policy Reject, or when
	// the store does not answer. It wraps the error of the store, if there was one. It passes, also
	// if it wraps a permanent error of one of several sources.
	ErrEmpty = uidring.ErrEmpty
	// ErrExhausted is returned when the ranges are used up and the counter has too few IDs left up
	// to 2^63 - 1. It is permanent.
	ErrExhausted = errors.New("segment: the counter is used up")
	// ErrWentBack is returned when the ranges are used up and the source has returned a range that
	// does not lie above the ranges before: the store has lost commits. It is permanent: the
	// generator asks that source no more. Call [Recover] for the counter, then restart the
	// processes that use it.
	ErrWentBack = errors.New("segment: the counter went back")
	// ErrInvalidRange is returned by New if two sources issue the same numbers or have different
	// Increments. It is returned when the ranges are used up and a source has returned a range that
	// is malformed, or whose Increment or remainder does not fit the ranges before or the other
	// sources. It is permanent.
	ErrInvalidRange = errors.New("segment: invalid range")
)

// permanent reports whether a source that returned err must not be asked again.
func permanent(err error) bool {
	return errors.Is(err, ErrExhausted) || errors.Is(err, ErrWentBack) || errors.Is(err, ErrInvalidRange)
}
