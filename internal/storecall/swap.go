// Package storecall is shared by the callers of stores and the stores: Swapped finds out whether a
// swap took effect, and OnFailure tells a caller the reason for which a store has not answered yet.
package storecall

import (
	"cmp"
	"errors"
)

var errRefused = errors.New("the store refuses a swap and shows the row unchanged")

// Swapped returns the row that a store has after a swap from old to next, which the store answered
// with ok and errSwap: next if the swap took effect, also when the answer was lost, and otherwise
// the row of another process. Swapped returns an error if the row looks unchanged, or if load
// cannot read it: the swap may then still take effect.
func Swapped[R interface{ Same(R) bool }](ok bool, errSwap error, old, next R, load func() (R, error)) (R, error) {
	if ok && errSwap == nil {
		return next, nil
	}
	found, err := load()
	switch {
	case err != nil:
		return found, errors.Join(errSwap, err)
	case found.Same(old):
		return found, cmp.Or(errSwap, errRefused)
	}
	return found, nil
}
