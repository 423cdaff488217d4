package fileassigner

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/uidring/uidring/assigner/leasestore"
)

// sameFolder records the identity of the first folder that a store has used. Any number of
// goroutines may use it at once.
type sameFolder struct{ first atomic.Pointer[string] }

// known reports whether the store has used a folder.
func (s *sameFolder) known() bool { return s.first.Load() != nil }

// check returns an error for a folder other than the first one.
func (s *sameFolder) check(f *folder) error {
	identity, err := f.identity()
	if err != nil {
		return err
	}
	if s.first.CompareAndSwap(nil, &identity) {
		return nil
	}
	if first := *s.first.Load(); first != identity {
		return replaced(fmt.Sprintf("it is %q and was %q", identity, first))
	}
	return nil
}

// explain extends the error of a folder that no longer exists.
func (s *sameFolder) explain(err error) error {
	if s.known() && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", replaced("it is gone"), err)
	}
	return err
}

// replaced returns the error for a folder that is not the first one.
func replaced(found string) error {
	return fmt.Errorf("%w: the folder was moved, replaced or deleted while it was in use, %s; put it back, or end the process "+
		"and start it again where this is the right store: two stores, and two copies of one, hand out the same worker IDs",
		leasestore.ErrDamaged, found)
}
